/** Audit records of the v4 contract name the operation, the user behind the token, and a login with `run_as`. */
import t from 'tap'
import type { RunningEdge } from '../../support/edge.ts'
import { eventually } from '../../support/eventually.ts'
import { bothPorts } from './both-ports.ts'
import { twoReplicas, users } from './two-replicas.ts'

interface AuditRecord {
  readonly kind: string
  readonly caller?: string
  readonly method?: string
  readonly route?: string
  readonly outcome?: string
  readonly runAs?: string
}

function recordsOf({ logged }: RunningEdge): readonly AuditRecord[] {
  return logged
    .map((line) => JSON.parse(line) as { readonly msg: string; readonly line?: string })
    .filter(({ msg }) => msg === 'audit')
    .map(({ line = '' }) => JSON.parse(line) as AuditRecord)
}

t.test('writes with tokens of the edge are those of its user, and the route has its contract', async (t) => {
  const { edges, v3, v4 } = await bothPorts(t)
  const [edge] = edges as [RunningEdge]
  t.equal((await v4(0, '/cache/rules', { method: 'DELETE' })).status, 200)
  t.equal((await v3(0, '/cache/rules', { method: 'DELETE' })).status, 200)
  t.equal((await v4(0, '/cache', { method: 'DELETE', user: 'reader' })).status, 403)
  const purges = () => recordsOf(edge).filter(({ method }) => method === 'DELETE')
  await eventually(() => purges().length === 5)
  const of = (kind: string, route: string, caller = 'admin') =>
    purges().some((record) => record.kind === kind && record.route === route && record.caller === caller)
  t.ok(of('intent', 'v4:/cache/:group') && of('outcome', 'v4:/cache/:group'))
  t.ok(of('intent', '/cache/:group') && of('outcome', '/cache/:group'))
  t.ok(of('refused', 'v4:/cache', 'reader'))
  t.notOk(purges().some(({ runAs }) => runAs !== undefined))
})

t.test('writes with tokens of the manager are those of its user, with the digest of a context', async (t) => {
  const { edges } = await twoReplicas(t)
  const [edge] = edges as [RunningEdge]
  const basic = `Basic ${btoa(`ann:${users.ann.password}`)}`
  const post = async (path: string, authorization: string, body?: object) => {
    const headers = { authorization, ...(body && { 'content-type': 'application/json' }) }
    const response = await fetch(edge.url + path, {
      method: 'POST',
      headers,
      ...(body && { body: JSON.stringify(body) }),
    })
    return { status: response.status, text: await response.text() }
  }
  const own = await post('/security/user/authenticate?raw=true', basic)
  const asOther = await post('/security/user/authenticate/run_as?raw=true', basic, { name: 'x' })
  t.strictSame([own.status, asOther.status], [200, 200], asOther.text)
  const claims = JSON.parse(Buffer.from(asOther.text.split('.')[1] ?? '', 'base64url').toString()) as object
  const digest = (claims as { readonly hash_auth_context: string }).hash_auth_context
  t.match(digest, /^\w{16,}$/)
  await post('/groups', `Bearer ${own.text}`, { group_id: 'one' })
  await post('/groups', `Bearer ${asOther.text}`, { group_id: 'two' })
  const writes = recordsOf(edge).filter(({ route }) => route === 'v4:/groups')
  t.match(writes, [
    { kind: 'intent', caller: 'ann', runAs: undefined },
    { kind: 'outcome', caller: 'ann', runAs: undefined },
    { kind: 'intent', caller: 'ann', runAs: digest },
    { kind: 'outcome', caller: 'ann', runAs: digest },
  ])
  const logins = recordsOf(edge).filter(({ route }) => route === 'v4:/security/user/authenticate/run_as')
  t.match(logins, [
    { kind: 'intent', caller: 'ann', fields: ['name'] },
    { kind: 'outcome', caller: 'ann', outcome: 'done' },
  ])
  t.notMatch(edge.logged.join(''), asOther.text.split('.')[2] ?? '', 'no token in the log')
})
