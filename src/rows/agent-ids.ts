/** Finds the agents on a page without parsing its rows: nodes write rows without spaces, and each row with its `agent_id`. */
import { iterateRows, type Rows, UnreadableRowsError } from './rows.ts'

const AGENT_ID_MEMBER = Buffer.from('"agent_id":"')
const QUOTE = 0x22
/** Every node is this agent to itself. */
const MANAGER_AGENT_ID = '000'

/** Returns the ids in their order, each once, without `000`. */
export function agentIdsOf(rows: Rows): readonly string[] {
  rows.known.agentIds ??= findAgentIds(rows)
  return rows.known.agentIds
}

function findAgentIds(page: Rows): readonly string[] {
  const ids = new Set<string>()
  let ending: Buffer | undefined
  try {
    for (const row of iterateRows(page)) {
      // Rows of one agent follow each other and end with its id, so most of them need no search.
      if (ending !== undefined && endsWith(row, ending)) continue
      const at = row.lastIndexOf(AGENT_ID_MEMBER)
      if (at < 0) continue
      const from = at + AGENT_ID_MEMBER.length
      ids.add(row.toString('latin1', from, row.indexOf(QUOTE, from)))
      ending = row.subarray(at)
    }
  } catch (error) {
    // The merge reports unreadable rows.
    if (!(error instanceof UnreadableRowsError)) throw error
  }
  ids.delete(MANAGER_AGENT_ID)
  return [...ids]
}

/** Compares in JavaScript: for so few bytes a native call would cost more. */
function endsWith(row: Buffer, ending: Buffer): boolean {
  const start = row.length - ending.length
  let at = ending.length - 1
  while (at >= 0 && row[start + at] === ending[at]) at--
  return at < 0
}
