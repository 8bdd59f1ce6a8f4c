import t from 'tap'
import { indexAgents } from '../../../src/join/agent-index.ts'
import { NodeReport } from '../../../src/join/node-report.ts'
import { type ContentByNode, ReadAgents } from '../../../src/join/read-agents.ts'
import { edgeRequest } from '../../support/edge-requests.ts'

const content = (...ids: string[]) => ({ rows: [], ids })

/** The owner table after a lookup that came between the checks of two pages. */
async function agentsOf(owners: Readonly<Record<string, string>>, ofMaster: Readonly<Record<string, string>> = {}) {
  const request = edgeRequest('GET /experimental/syscollector/packages')
  const verifiedOwners = async (ids: readonly string[]) => new Map(ids.map((id) => [id, ofMaster[id] ?? 'none']))
  const ports = { owners: { verifiedOwners, allOwners: () => Promise.reject(new Error('not needed')) } }
  const table = new Map(Object.entries(owners).map(([id, node]) => [id, { kind: 'node', node } as const]))
  return new ReadAgents({ request, ports, report: new NodeReport(['w1', 'w2'], 0) }, table, await indexAgents(table))
}

t.test('an agent on the pages of two nodes is left to its owner, whatever the table said at each check', async (t) => {
  const agents = await agentsOf({ '001': 'w1', '002': 'w2' })
  const contents: ContentByNode = new Map([
    ['w1', content('001', '002')],
    ['w2', content('002')],
  ])
  t.equal(agents.hasRowsOfOthers('w1', contents), true)
  t.strictSame(
    agents.of('w1').map(({ id }) => id),
    ['000', '001'],
  )
  t.equal(agents.hasRowsOfOthers('w2', contents), false)
})

t.test('an agent whose owner does not have it yet stays where it is', async (t) => {
  const contents: ContentByNode = new Map([
    ['w1', content('001', '002')],
    ['w2', content()],
  ])
  t.equal((await agentsOf({ '001': 'w1', '002': 'w2' })).hasRowsOfOthers('w1', contents), false)
})

t.test('an agent that departed and is not on the page of its new node is read there', async (t) => {
  const agents = await agentsOf({ '001': 'w1', '002': 'w3' }, { '002': 'w2' })
  t.strictSame(await agents.checkPage(['001', '002'], 'w1'), { isOwn: false })
  const missing = (ofW2: ContentByNode) => agents.missingIn(ofW2)
  t.strictSame(missing(new Map([['w2', content()]])), [{ id: '002', node: 'w2' }])
  t.strictSame(missing(new Map([['w2', content('002')]])), [])
  t.strictSame(missing(new Map([['w2', { rows: [] }]])), [], 'a node that failed is not asked again')
})

t.test('a page with rows of another node only is an error', async (t) => {
  const agents = await agentsOf({ '001': 'w1', '002': 'w2' }, { '002': 'w2' })
  t.match(await agents.checkPage(['002'], 'w1'), { code: 925 })
})
