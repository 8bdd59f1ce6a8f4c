/** The agents of rows, without parsing them. */
import { QUOTE } from '../core/json-scan.ts'
import { iterateRows, joinRows, type Rows } from './rows.ts'

/** Nodes write rows without spaces, and each row with its `agent_id`. */
const AGENT_ID_MEMBER = Buffer.from('"agent_id":"')

/** Returns the agents of rows that are not parsed, in their order, each once. */
export function agentIdsOf(rows: Rows): readonly string[] {
  rows.known.agentIds ??= findAgentIds(rows)
  return rows.known.agentIds
}

function findAgentIds(page: Rows): readonly string[] {
  const ids = new Set<string>()
  let ending: Buffer | undefined
  for (const row of iterateRows(page)) {
    // Rows of one agent follow each other and end with its id, so most of them need no search.
    if (ending !== undefined && endsWith(row, ending)) continue
    const at = row.lastIndexOf(AGENT_ID_MEMBER)
    if (at < 0) continue
    ids.add(agentIdAt(row, at))
    ending = row.subarray(at)
  }
  return [...ids]
}

function agentIdAt(row: Buffer, at: number): string {
  const from = at + AGENT_ID_MEMBER.length
  return row.toString('latin1', from, row.indexOf(QUOTE, from))
}

export function rowsOfAgents(page: Rows, ids: ReadonlySet<string>): Promise<Rows> {
  const found = [...iterateRows(page)].filter((row) => {
    const at = row.lastIndexOf(AGENT_ID_MEMBER)
    return at >= 0 && ids.has(agentIdAt(row, at))
  })
  return joinRows(found)
}

/** Compares in JavaScript: for so few bytes a native call would cost more. */
function endsWith(row: Buffer, ending: Buffer): boolean {
  const start = row.length - ending.length
  let at = ending.length - 1
  while (at >= 0 && row[start + at] === ending[at]) at--
  return at < 0
}
