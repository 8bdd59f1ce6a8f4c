/** While the console is in use, a read that no stored response answered has its stages there, in both contracts. */
import t from 'tap'
import type { RequestDetails } from '../../../packages/console/server/request-types.ts'
import { catalogue } from '../../../src/contracts/index.ts'
import { v4Contract } from '../../../src/contracts/v4/index.ts'
import { pathsOf, pathValues } from '../../support/sample-values.ts'
import { simulated } from '../../support/simulated.ts'

t.test('each read that is no hit has stages', async (t) => {
  const { edge } = await simulated(
    t,
    { layout: 'v4', workers: 1, agents: 6 },
    {
      settings: {
        listen: { secondPort: 0 },
        cluster: { layout: 'v4', discover: false, limits: { perMinute: 0 } },
        access: { limits: { requestsPerSecond: 100_000 } },
      },
    },
  )
  const basic = { authorization: edge.authorization('admin') }
  const login = await fetch(`${edge.secondUrl}/security/user/authenticate?raw=true`, { method: 'POST', headers: basic })
  const token = { authorization: `Bearer ${await login.text()}` }
  const operator = { authorization: edge.authorization('operator') }
  const details = async (response: Response): Promise<RequestDetails> => {
    await response.arrayBuffer()
    const id = response.headers.get('x-request-id') ?? ''
    const found = await fetch(`${edge.operationsUrl}/api/requests/${id}`, { headers: operator })
    return (await found.json()) as RequestDetails
  }
  const unused = await details(await fetch(`${edge.url}/agents?search=first`, { headers: basic }))
  t.strictSame(unused.stages, [], 'no stages before the first use of the console')
  t.equal(unused.calls.length, 1, 'the call is recorded all the same')
  let misses = 0
  let withCalls = 0
  for (const [contract, base, headers] of [
    [catalogue, edge.url, basic],
    [v4Contract, edge.secondUrl, token],
  ] as const) {
    for (const record of contract.filter(({ method }) => method === 'GET')) {
      const values: Readonly<Record<string, string>> = {
        ...pathValues,
        ...(contract === v4Contract && { agent_id: '001' }),
        ...pathsOf[`GET ${record.path}`],
      }
      const path = record.path.replaceAll(/:([a-z_]+)/g, (_, name: string) => values[name] ?? name)
      const response = await fetch(`${base}${path}`, { headers })
      const isMiss = /fwd=(?:uri-miss|bypass|vary-miss)/.test(response.headers.get('cache-status') ?? '')
      if (!isMiss) await response.arrayBuffer()
      if (!isMiss) continue
      const { stages, calls, request } = await details(response)
      if (request.cache !== 'miss') continue
      misses += 1
      t.ok(stages.length > 0, `${record.method} ${path}: ${stages.length} stages`)
      withCalls += Number(calls.length > 0)
    }
  }
  t.ok(misses > 60, `${misses} misses`)
  // The others are joined from stored parts.
  t.ok(withCalls > misses / 2, `${withCalls} with calls`)
})
