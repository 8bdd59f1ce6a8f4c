/** How `Cluster-Status` writes names of nodes and details: as items of a structured field (RFC 9651). */
import t from 'tap'
import { formatClusterStatus } from '../../../src/join/cluster-status.ts'

/** Formats a node that contributed nothing, of which the header has the name and the detail. */
function format(node: string, detail?: string): string {
  const entry = { errors: [], parts: 0, hits: 0, rtt: 0, rows: undefined, total: 0 }
  return formatClusterStatus([[node, { ...entry, ...(detail !== undefined && { detail }) }]])
}

t.test('a token is written as it is', async (t) => {
  for (const text of ['master', 'worker-1', '*', 'a/b:c', 'stale-if-error']) {
    t.equal(format(text), text)
    t.equal(format('master', text), `master;detail=${text}`)
  }
})

t.test('any other text is a quoted string of printable ASCII', async (t) => {
  for (const [text, item] of [
    ['', '""'],
    ['1st', '"1st"'],
    ['two words', '"two words"'],
    ['a"b\\c', '"a\\"b\\\\c"'],
    ['Zoë\r\n', '"Zo???"'],
  ] as const) {
    t.equal(format(text), item)
    t.equal(format('master', text), `master;detail=${item}`)
  }
})
