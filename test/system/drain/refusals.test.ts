import t from 'tap'
import { simulated } from '../../support/simulated.ts'
import { drain, drainRecords, putBack, stateOf } from './replicas.ts'

t.test('a drain is refused without the permission, for unknown nodes and for the last node in use', async (t) => {
  const customRoles = { maintainer: ['*:read', 'operations:read', 'nodes:drain'] }
  const roles = { admin: ['administrator'], operator: ['operator'], reader: ['maintainer'] }
  const { edge } = await simulated(t, { agents: 3, workers: 1 }, { settings: { access: { customRoles, roles } } })
  for (const call of [drain, putBack]) {
    const refused = await call(edge, 'worker-1', 'operator')
    t.match(refused, { status: 403, body: { error: 902, message: /nodes:drain/ } }, 'an operator may not')
    for (const name of ['worker-9', '__proto__', 'constructor']) {
      t.match(await call(edge, name, 'admin'), { status: 404, body: { error: 603 } }, name)
    }
    for (const name of ['..%2fmaster', 'a%00b', '%3Cscript%3E', 'x'.repeat(300)]) {
      t.equal((await call(edge, name)).status >= 400, true, name)
    }
  }
  t.equal(await stateOf(edge, 'worker-1'), 'up')
  const refused = drainRecords(edge).filter(({ caller }) => caller === 'operator')
  t.match(refused, [
    { outcome: 'refused', error: 902 },
    { outcome: 'refused', error: 902 },
  ])

  const drained = await drain(edge, 'worker-1', 'reader')
  t.match(drained, { status: 200, body: { drained: true, appliesTo: 'thisReplica' } }, 'a custom role may')
  t.match(await drain(edge, 'worker-1'), { status: 200 }, 'a second time changes nothing')
  t.match(await drain(edge, 'master'), { status: 409, body: { error: 940, message: /last node in use/ } })
  const site = { authorization: edge.authorization('admin') }
  const url = `${edge.operationsUrl}/api/nodes/worker-1/drain`
  t.equal((await fetch(url, { method: 'DELETE', headers: site })).status, 403, 'a form of another site')
  t.equal(await stateOf(edge, 'worker-1'), 'drained')
  t.equal((await putBack(edge, 'worker-1', 'reader')).status, 200)
  t.equal(await stateOf(edge, 'worker-1'), 'not tried')
})
