"""Delegation tokens as text: Hadoop's form to the byte, any token there and back, nothing else taken."""

import base64

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shim.protocol.proto.messages import TokenProto
from shim.protocol.rest.token_strings import TokenStringError, decode_token, encode_token

TOKENS = st.builds(
    TokenProto,
    identifier=st.binary(max_size=4096),
    password=st.binary(max_size=300),
    kind=st.text(max_size=40),
    service=st.text(max_size=40),
)


@given(TOKENS)
def test_a_token_is_read_as_it_was_written(token):
    text = encode_token(token)
    assert set(text).isdisjoint("+/=")
    assert decode_token(text) == token


def test_the_form_is_that_of_hadoops_writable_utils():
    """200 is written as -113 (one byte follows) and 200; 300 as -114 (two follow), 1 and 44."""
    token = TokenProto(identifier=bytes(200), password=bytes(300), kind="K", service="")
    data = base64.urlsafe_b64decode(encode_token(token) + "==")
    assert data == b"\x8f\xc8" + bytes(200) + b"\x8e\x01\x2c" + bytes(300) + b"\x01K" + b"\x00"


@given(TOKENS, st.data())
def test_what_is_cut_is_refused(token, data):
    raw = base64.urlsafe_b64decode(encode_token(token) + "==")
    kept = data.draw(st.integers(0, len(raw) - 1))
    with pytest.raises(TokenStringError):
        decode_token(base64.urlsafe_b64encode(raw[:kept]).decode())


@given(st.text(max_size=200))
def test_any_text_is_a_token_or_refused(text):
    try:
        token = decode_token(text)
    except TokenStringError:
        return
    assert decode_token(encode_token(token)) == token


def encoded(data):
    return base64.urlsafe_b64encode(data).decode()


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("A" * 20_000, "too long"),
        ("ü", "cannot be read"),
        ("a.b", "cannot be read"),
        ("", "cannot be read"),
        (encoded(b"\x00\x00\x00\x00more"), "behind its end"),
        (encoded(b"\xff\x00\x00\x00"), "negative or huge"),
        (encoded(b"\x88" + b"\xff" * 8), "negative or huge"),
        (encoded(b"\x8c\x7f\xff\xff\xff"), "cut"),
        (encoded(b"\x00\x00\x01\xff\x00"), "cannot be read"),
    ],
)
def test_why_a_text_is_refused(text, why):
    with pytest.raises(TokenStringError, match=why):
        decode_token(text)


@pytest.mark.parametrize(
    ("length", "head"),
    [
        (0, b"\x00"),
        (1, b"\x01"),
        (127, b"\x7f"),
        (128, b"\x8f\x80"),
        (255, b"\x8f\xff"),
        (256, b"\x8e\x01\x00"),
        (4096, b"\x8e\x10\x00"),
    ],
)
def test_each_length_has_its_form(length, head):
    token = TokenProto(identifier=bytes(length), password=b"p", kind="k", service="s")
    data = head + bytes(length) + b"\x01p\x01k\x01s"
    assert encode_token(token) == encoded(data).rstrip("=")
    assert decode_token(encode_token(token)) == token


@pytest.mark.parametrize(("first", "count"), [(0x8F, 1), (0x8E, 2), (0x8D, 3), (0x8C, 4)])
def test_a_length_may_take_up_to_four_bytes(first, count):
    data = bytes([first]) + (2).to_bytes(count, "big") + b"id\x00\x00\x00"
    assert decode_token(encoded(data)) == TokenProto(identifier=b"id", password=b"", kind="", service="")


@pytest.mark.parametrize("first", [0x80, 0x8A, 0x8B, 0x90, 0x91, 0xFF])
def test_a_length_that_is_negative_or_takes_more_is_none(first):
    with pytest.raises(TokenStringError, match="a part of a negative or huge length"):
        decode_token(encoded(bytes([first]) + bytes(20)))
