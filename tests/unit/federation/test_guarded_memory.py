"""What is kept for viewers, who are made up, is bounded by bytes."""

from shim.federation.reading import _Recent


def test_the_values_used_last_stay_within_their_bytes() -> None:
    recent: _Recent[int, str] = _Recent(most=100, most_bytes=1000)
    for number in range(50):
        recent.put(number, str(number), size=300)
        recent.get(0)
    assert len(recent) == 3
    assert (recent.get(0), recent.get(49), recent.get(20)) == ("0", "49", None)
    recent.put(49, "again", size=5000)
    assert (len(recent), recent.get(49)) == (1, "again")
