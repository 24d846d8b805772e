"""The admin: who is let in, and what the first page shows."""

from unfold.sites import UnfoldAdminSite


class PalimpsestAdminSite(UnfoldAdminSite):
    """Unfold's site."""
