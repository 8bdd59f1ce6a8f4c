/** v4 layout: a v3 client gets 938 for a call that exists only since a later release than that of the node. */
import t from 'tap'
import { edgeRequest } from '../../upstream/edge-request.ts'
import { ask, items } from './recorded-node.ts'

const request = edgeRequest('GET', '/syscollector/:agent_id/hotfixes')
const { translation } = request.endpoint.contract === 'v3' ? request.endpoint : {}
if (translation === undefined) throw new Error('GET /syscollector/:agent_id/hotfixes has no translation')
const since414 = { ...request.endpoint, translation: { ...translation, releases: { since: '4.14' } } } as const

const asked = (version: string, seen: string[]) => {
  const path = 'GET /syscollector/001/hotfixes?sort=+scan_id,hotfix'
  const replies = { [path]: { body: items([]) } }
  const overrides = { endpoint: since414, params: { agent_id: '001' } } as object
  return ask('GET', request.endpoint.path, { ...overrides, version, seen, replies })
}

t.test('an earlier release gets no call', async (t) => {
  const calls: string[] = []
  await t.rejects(asked('4.13.2', calls), {
    code: 938,
    message: /master: release 4\.13\.2 does not have GET \/syscollector\/:agent_id\/hotfixes/,
  })
  t.strictSame(calls, [])
})

t.test('the release itself and later ones answer', async (t) => {
  for (const version of ['4.14.0', '5.0.0']) {
    const { status } = await asked(version, [])
    t.equal(status, 200, version)
  }
})
