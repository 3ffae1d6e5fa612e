"""What bids and offers are worth in evaluation.md; the full table is made by `python -m scripts.bids_figures`."""

from scripts.bids_figures import found_with, made_jobs


def test_offers_are_taken_where_asks_are_bounded_and_cost_tasks_less_than_a_third():
    runs = {
        told: [found_with(made_jobs(seed), seed, global_masters=4, told=told) for seed in (1, 2)]
        for told in ("nothing", "offers")
    }
    waits_s = {told: sum(each.wait_s for each in found) for told, found in runs.items()}
    assert waits_s["offers"] < 1.3 * waits_s["nothing"]
    assert sum(each.taken for each in runs["offers"]) > 0
