"""A program with the Python module. It prints one line of JSON."""

import json
import sys

from manager_edge import ClassicClient, ManagerError, NewerClient, all_rows

url, newer_url, password = sys.argv[1:4]
client = ClassicClient(url, user="admin", password=password)
ids = [agent["id"] for agent in all_rows(client.get_agents, limit=4, sort="+id")]
client.get_agents(limit=5)
client.get_agents(limit=5)
cached = client.headers["Cache-Status"]


def error_of(call, *args, **parameters):
    try:
        call(*args, **parameters)
    except ManagerError as error:
        return [error.code, error.status, error.suggestion]
    return None


wrong = ClassicClient(url, user="admin", password="wrong")
newer = NewerClient(newer_url, user="admin", password=password)
print(
    json.dumps(
        {
            "ids": ids,
            "cached": cached,
            "missing": error_of(client.get_agents_by_agent_id, "999"),
            "invalid": error_of(client.get_agents_by_agent_id, "abc"),
            "refused": error_of(wrong.get_agents),
            "restarted": client.put_agents_by_agent_id_restart("001"),
            "created": sorted(client.post_agents(body={"name": "made-by-python"})),
            "newer": len(newer.get_agents(limit=2)["data"]["affected_items"]),
            "newer_error": error_of(newer.get_agents_by_agent_id_key, "abc"),
        }
    )
)
