"""A program with the Python module. It prints one line of JSON."""

import json
import sys

from manager_edge import V3Client, ManagerError, V4Client, all_rows

url, v4_url, password = sys.argv[1:4]
client = V3Client(url, user="admin", password=password)
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


wrong = V3Client(url, user="admin", password="wrong")
v4 = V4Client(v4_url, user="admin", password=password)
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
            "v4": len(v4.get_agents(limit=2)["data"]["affected_items"]),
            "v4_error": error_of(v4.get_agents_by_agent_id_key, "abc"),
        }
    )
)
