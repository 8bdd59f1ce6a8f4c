/** A full disk under the audit file: writes are rejected, everything that shows problems names the reason, and it ends with the reason. */
import { rename, rm, symlink } from 'node:fs/promises'
import { join } from 'node:path'
import t from 'tap'
import { startSimulator } from '../../../packages/simulator/src/index.ts'
import { startEdge } from '../../support/edge.ts'

t.test('a full disk under audit.file is a problem until a record is written', async (t) => {
  const account = { username: 'edge', password: 'only-for-tests' }
  const simulator = await startSimulator({ workers: 1, agents: 3, ...account })
  t.teardown(() => simulator.close())
  const edge = await startEdge({ nodes: simulator.nodes, settings: { audit: { file: 'audit.jsonl' } } })
  t.teardown(() => edge.close())
  const headers = { authorization: edge.authorization('admin') }
  const write = async () => (await fetch(`${edge.url}/agents/groups/g`, { method: 'PUT', headers })).status
  const reasons = async () => {
    const { degraded = [] } = (await (await fetch(`${edge.operationsUrl}/readyz?verbose`)).json()) as {
      readonly degraded?: readonly { readonly reason: string }[]
    }
    return degraded.map(({ reason }) => reason)
  }
  const problems = async () => {
    const response = await fetch(`${edge.operationsUrl}/api/problems`, { headers })
    return ((await response.json()) as { problems: { kind: string; detail: string }[] }).problems
  }
  t.equal(await write(), 200)
  t.strictSame(await reasons(), [])

  const file = join(edge.folder, 'audit.jsonl')
  await rename(file, `${file}.1`)
  await symlink('/dev/full', file)
  t.equal(await write(), 503)
  t.strictSame(await reasons(), ['auditNotWritten'])
  t.match(await problems(), [{ kind: 'auditNotWritten', detail: /936.*audit\.file/ }])

  await rm(file)
  t.equal(await write(), 200, 'writes are accepted again without a restart')
  t.notOk((await reasons()).includes('auditNotWritten'))
})
