"""Replications that only readers of the papers need, as commands of ``ehrqa``.

abstention    Yang et al. 2024: signals for abstaining        ehrqa eval abstention
spider        Yu et al. 2018: any SQL predictions              ehrqa eval spider
emrqa         Pampari et al. 2018: evidence, classes, forms    ehrqa eval emrqa
emrqa_sets    the same paper's way to make questions           ehrqa build emrqa
rankings      Kweon et al. 2024, section 4.3                   ehrqa eval rankings
"""
