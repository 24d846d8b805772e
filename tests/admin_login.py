"""How tests log in to the admin: a password, then a code of their authenticator."""

import time

from django.contrib.auth import get_user_model
from django.test import Client
from django_otp.plugins.otp_totp.models import TOTPDevice

from tenants.founding import OWNER
from tenants.one_time_codes import code_at, new_secret
from tenants.second_factor import device_with, secret_of

PASSWORD = "correct horse battery staple"
LOGIN, SECOND_STEP = "/admin/login/", "/admin/second-step/"


def set_password(user_id, password=PASSWORD):
    user = get_user_model().objects.using(OWNER).get(pk=user_id)
    user.set_password(password)
    user.save(using=OWNER, update_fields=["password"])


def authenticator_of(user_id):
    """Return the log-in's authenticator, which is set up if need be, with no code used up."""
    device = TOTPDevice.objects.using(OWNER).filter(user_id=user_id).first()
    if device is None:
        device = device_with(get_user_model()(pk=user_id), new_secret())
    device.last_t = -1
    device.save(using=OWNER)
    return device


def fresh_code(user_id):
    """Return a code that counts now, however often the person logs in within half a minute."""
    return code_at(secret_of(authenticator_of(user_id)), time.time())


def show_password(username, password=PASSWORD, client=None):
    """Return a client after the first step."""
    client = client or Client()
    answer = client.post(LOGIN, {"username": username, "password": password})
    assert answer.status_code == 302, answer.content
    return client


def logged_in(person, password=PASSWORD, client=None):
    """Return a client in which the person has logged in, with a password set just now."""
    return log_in_as(person.member.user_id, person.member.username, password, client)


def log_in_as(user_id, username, password=PASSWORD, client=None):
    """Return a client in which this log-in has taken both steps."""
    set_password(user_id, password)
    client = show_password(username, password, client)
    answer = client.post(SECOND_STEP, {"code": fresh_code(user_id)})
    assert answer.status_code == 302, answer.content
    return client


def log_in(page, person):
    """Log the person in, in a browser's page."""
    set_password(person.member.user_id)
    page.goto("/admin/")
    page.fill("#id_username", person.member.username)
    page.fill("#id_password", PASSWORD)
    authenticator_of(person.member.user_id)
    page.click("#login-form button[type=submit]")
    page.wait_for_url("**/second-step/**")
    page.fill("#id_code", fresh_code(person.member.user_id))
    page.click("#code-form button[type=submit]")
    page.wait_for_url("**/admin/")
