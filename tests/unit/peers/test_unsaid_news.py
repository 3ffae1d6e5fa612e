"""News of proposals over links that end: each is said until it is answered."""

from shim.domain.launches import LaunchNews
from shim.peers.following import UnsaidNews


def test_news_are_said_once_on_a_link_and_again_on_the_next_until_they_are_answered():
    unsaid = UnsaidNews()
    unsaid.add([LaunchNews(1, 1, 0), LaunchNews(2, 0, 1)])
    unsaid.sent(7, unsaid.take())
    assert unsaid.take() == ()
    unsaid.link_ended()
    assert unsaid.take() == (LaunchNews(1, 1, 0), LaunchNews(2, 0, 1))
    unsaid.sent(1, unsaid.take())
    unsaid.heard(1)
    unsaid.link_ended()
    assert unsaid.take() == ()


def test_what_is_newer_than_the_answered_frame_is_still_said():
    unsaid = UnsaidNews()
    unsaid.add([LaunchNews(1, 1, 0)])
    unsaid.sent(7, unsaid.take())
    unsaid.add([LaunchNews(1, 2, 0)])
    unsaid.heard(7)
    assert unsaid.take() == (LaunchNews(1, 2, 0),)


def test_of_very_many_the_newest_are_kept():
    unsaid = UnsaidNews()
    unsaid.add([LaunchNews(number, 1, 0) for number in range(2000)])
    assert [unsaid.take()[0].number, len(unsaid.take())] == [976, 1024]
