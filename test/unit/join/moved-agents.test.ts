import t from 'tap'
import { type ContentByNode, movedAwayFrom } from '../../../src/join/moved-agents.ts'
import type { AgentOwnerMap } from '../../../src/join/owner-lookup.ts'

/** The owner table after a lookup that came between the checks of two pages. */
const table: AgentOwnerMap = new Map([
  ['001', { kind: 'node', node: 'w1' }],
  ['002', { kind: 'node', node: 'w2' }],
])
const page = (...ids: string[]) => ({ rows: [], ids, arrivedIds: [] })

t.test('an agent on the pages of two nodes is left to its owner, whatever the table said at each check', async (t) => {
  const contents: ContentByNode = new Map([
    ['w1', page('001', '002')],
    ['w2', page('002')],
  ])
  t.strictSame(movedAwayFrom('w1', contents, table), ['002'])
  t.strictSame(movedAwayFrom('w2', contents, table), [])
})

t.test('an agent whose owner does not have it yet stays where it is', async (t) => {
  const contents: ContentByNode = new Map([
    ['w1', page('001', '002')],
    ['w2', page()],
  ])
  t.strictSame(movedAwayFrom('w1', contents, table), [])
})
