import t from 'tap'
import { collect } from '../../../../packages/simulator/src/data/collect.ts'
import { parseCollectionRequest } from '../../../../src/collections/request.ts'
import { sources } from '../../../../src/collections/sources.ts'
import { bodyOf, cacheStatusOf, edgeRequest, replica, success } from '../../../support/edge-requests.ts'
import { settings } from './collection-node.ts'

/** The manager cuts a page before it searches and sorts, and its total counts the page. */
function listFiles(count: number) {
  const rows = Array.from({ length: count }, (_, at) => ({ path: 'etc/lists', name: `list-${(at * 7919) % count}` }))
  const edge = replica({ settings: { snapshots: { ...settings, groups: ['lists'] } } })
  const direct = (query: Readonly<Record<string, string>>) =>
    collect(rows, parseCollectionRequest(query, new Date()), sources.listFiles)
  edge.nodes.respond = ({ query }) => success(direct(query))
  const get = async (query: Readonly<Record<string, string>>) => {
    const response = await edge.read(edgeRequest('GET /lists/files', { query }))
    return { data: bodyOf(response).data, status: cacheStatusOf(response) }
  }
  return { get, direct, nodes: edge.nodes }
}

t.test('pages of the list files are those of the manager, from one snapshot', async (t) => {
  const { get, direct, nodes } = listFiles(300)
  await get({ limit: '5' })
  await get({ limit: '6' })
  const { calls } = nodes
  for (const query of [
    { offset: '100', limit: '7', sort: 'name' },
    { offset: '250', search: '9', limit: '5000' },
    { offset: '400' },
    { sort: '-name', search: '!1', limit: '20' },
  ]) {
    const { data, status } = await get(query)
    t.strictSame(data, direct(query), JSON.stringify(query))
    t.match(status, { hit: true, detail: 'snapshot' })
  }
  t.equal(nodes.calls, calls)
})

t.test('if there may be more list files than one call returns, each request goes to a node', async (t) => {
  const { get, direct } = listFiles(1000)
  await get({ limit: '5' })
  await get({ limit: '6' })
  const { data, status } = await get({ limit: '8', sort: 'name' })
  t.strictSame(data, direct({ limit: '8', sort: 'name' }))
  t.not(status?.detail, 'snapshot')
})
