"""DIGEST-MD5 computes what the mechanism of OpenJDK 17 computed, as either side, in every quality of protection."""

import pytest

from shim.protocol.hrpc import JavaClass, QualityOfProtection, SASLError
from shim.protocol.hrpc.digest_md5 import DigestMD5Client, DigestMD5Server, TokenSecret, read_response
from tests.protocol.captured import digest_sessions, directive

IDENTIFIER, PASSWORD, SESSIONS = digest_sessions()
by_session = pytest.mark.parametrize("session", SESSIONS, ids=lambda session: f"{session.quality}-{session.cipher}")
by_protected = pytest.mark.parametrize(
    "session",
    [session for session in SESSIONS if session.from_client],
    ids=lambda session: f"{session.quality}-{session.cipher}",
)


def lookup(identifier):
    if identifier != IDENTIFIER:
        raise SASLError("unknown token", java_class=JavaClass.INVALID_TOKEN)
    return PASSWORD


def server(session):
    return DigestMD5Server(lookup, directive(session.challenge, "nonce"), [QualityOfProtection(session.quality)])


def client(session, password=PASSWORD):
    """A client that knows one cipher only, as the capture's did."""
    cnonce = directive(session.response, "cnonce")
    return DigestMD5Client(TokenSecret(IDENTIFIER, password), cnonce, [QualityOfProtection(session.quality)])


def challenge(session):
    """The captured challenge, with the chosen cipher as the only one: the strongest common one is taken."""
    if session.cipher is None:
        return session.challenge
    return session.challenge.replace(directive(session.challenge, "cipher").encode(), session.cipher.encode())


def authenticated(session):
    one, other = client(session), server(session)
    one.step(challenge(session))
    one.step(other.step(session.response))
    assert one.is_complete
    assert other.is_complete
    return one, other


@by_session
def test_a_server_takes_the_response_and_proves_itself(session):
    ours = server(session)

    assert ours.step(session.response) == session.proof
    assert ours.is_complete
    assert ours.quality.value == session.quality
    assert ours.identity == directive(session.response, "username")


@by_session
def test_a_server_challenges_in_the_same_words(session):
    assert server(session).step(b"") == session.challenge.replace(
        directive(session.challenge, "cipher").encode() or b"\x00", b"rc4,rc4-56,rc4-40"
    )


@by_session
def test_a_client_responds_in_the_same_words_and_takes_the_proof(session):
    ours = client(session)

    assert ours.step(challenge(session)) == session.response
    assert ours.step(session.proof) == b""
    assert ours.is_complete


@by_protected
def test_messages_are_protected_the_same_way_in_both_directions(session):
    one, other = authenticated(session)

    assert [one.wrap(clear) for clear, _ in session.from_client] == [sealed for _, sealed in session.from_client]
    assert [other.wrap(clear) for clear, _ in session.from_server] == [sealed for _, sealed in session.from_server]
    assert [other.unwrap(sealed) for _, sealed in session.from_client] == [clear for clear, _ in session.from_client]
    assert [one.unwrap(sealed) for _, sealed in session.from_server] == [clear for clear, _ in session.from_server]


@by_protected
@pytest.mark.parametrize("position", [0, -1, -5, -8], ids=["body", "sequence", "type", "mac"])
def test_a_changed_message_is_refused(session, position):
    _, other = authenticated(session)
    sealed = bytearray(session.from_client[0][1])
    sealed[position] ^= 1

    with pytest.raises(SASLError):
        other.unwrap(bytes(sealed))


@by_protected
def test_a_repeated_message_is_refused(session):
    one, other = authenticated(session)
    sealed = one.wrap(b"once")
    other.unwrap(sealed)

    with pytest.raises(SASLError):
        other.unwrap(sealed)


@by_session
def test_a_wrong_password_is_refused_by_the_server(session):
    wrong = client(session, b"another password")
    response = wrong.step(challenge(session))

    with pytest.raises(SASLError, match=r"digest response format violation. Mismatched response\."):
        server(session).step(response)


@by_session
def test_a_server_without_the_password_is_refused_by_the_client(session):
    ours = client(session)
    ours.step(challenge(session))

    with pytest.raises(SASLError, match="could not prove"):
        ours.step(b"rspauth=" + b"0" * 32)
    assert not ours.is_complete


def test_an_unknown_token_is_refused_by_the_class_that_makes_clients_give_up():
    session = SESSIONS[0]
    stranger = DigestMD5Client(TokenSecret(b"stranger", PASSWORD), "c" * 40)
    response = stranger.step(session.challenge)

    with pytest.raises(SASLError) as caught:
        server(session).step(response)
    assert caught.value.failure.java_class == JavaClass.INVALID_TOKEN


@by_session
def test_the_identifier_is_readable_before_anything_is_proven(session):
    assert read_response(session.response).identifier_untrusted == IDENTIFIER


@pytest.mark.parametrize(
    ("was", "becomes", "problem"),
    [
        ('username="CAECAwQFyP8ABw=="', "x=y", "Missing username"),
        ('realm="default"', 'realm="other"', "Nonexistent realm: other"),
        ("nonce=", "nonse=", "Missing nonce"),
        ('nonce="', 'nonce="0', "Mismatched nonce"),
        ("nc=00000001", "nc=00000002", "Nonce count"),
        ("cnonce=", "cnonse=", "Missing cnonce"),
        ("qop=auth", "qop=auth-conf", "Mismatched qop: auth-conf"),
        ("digest-uri=", "digest-url=", "Missing digest URI"),
        ('digest-uri="/default"', 'digest-uri="yarn/host"', "Mismatched URI"),
        ("response=", "responce=", "Missing response"),
        ("charset=utf-8", "nc=00000001", "more than once"),
        ('username="CAECAwQFyP8ABw=="', 'username="not base64!"', "no token identifier"),
        ("charset=utf-8", f"x={'y' * 4096}", "Length is"),
    ],
)
def test_a_response_that_breaks_a_rule_is_refused_with_the_rule(was, becomes, problem):
    session = SESSIONS[0]
    response = session.response.decode()
    assert was in response

    with pytest.raises(SASLError, match=problem):
        server(session).step(response.replace(was, becomes, 1).encode())


@pytest.mark.parametrize(
    "offer",
    [
        b'realm="default",qop="auth",algorithm=md5-sess',
        b'nonce="n",algorithm=md5',
        b'nonce="n",qop="auth-int",algorithm=md5-sess',
    ],
    ids=["no-nonce", "algorithm", "qop"],
)
def test_a_challenge_that_cannot_be_met_is_refused(offer):
    with pytest.raises(SASLError):
        client(SESSIONS[0]).step(offer)
