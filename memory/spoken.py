"""The language in which memories are spoken of: one for a deployment, whoever asks."""

from django.conf import settings
from django.utils import translation
from django.utils.functional import lazy


def gettext(sentence: str) -> str:
    """Return the sentence in the language of the deployment, as far as it is translated."""
    with translation.override(settings.MEMORY_LANGUAGE):
        return translation.gettext(sentence)


gettext_lazy = lazy(gettext, str)
