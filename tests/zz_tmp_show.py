from tests.test_query_budget import spent  # noqa
def test_show(spent):
    for k, v in spent.items(): print(k, v)
