import t from 'tap'
import type { Endpoint } from '../../../src/contracts/endpoint.ts'
import { catalogue } from '../../../src/contracts/index.ts'
import { bodies, pathsOf, pathValues, sampleOf, UPLOAD } from '../../support/sample-values.ts'
import { simulated } from '../../support/simulated.ts'

/** Errors that the simulated cluster returns because it lacks the data. */
const otherErrors: Readonly<Record<string, number>> = {
  'GET /agents/:agent_id/upgrade_result': 3021,
  'PUT /agents/:agent_id/upgrade': 1718,
  'DELETE /agents': 1729,
  'DELETE /agents/:agent_id/group/:group_id': 1745,
  'DELETE /cluster/:node_id/files': 1906,
}

/** The bodies that the node must receive, where ids are padded. */
const seenBodies: Readonly<Record<string, unknown>> = {
  'POST /agents/insert': { name: 'inserted', ip: '10.9.9.8', id: '077', key: 'a'.repeat(64) },
  'POST /agents/restart': { ids: ['001', '002'] },
  'POST /agents/group/:group_id': { ids: ['002'] },
}

function idOf(endpoint: Endpoint): string {
  return `${endpoint.method} ${endpoint.path}`
}

/** Returns the path as the client writes it, and as the node must receive it (padded, or its twin). */
function paths(endpoint: Endpoint): { sent: string; seen: string } {
  const fill = (template: string, pad: boolean) =>
    template.replaceAll(/:([a-z_]+)/g, (_all, name: string) => {
      const value = pathsOf[idOf(endpoint)]?.[name] ?? pathValues[name] ?? 'x'
      return pad && name === 'agent_id' ? value.padStart(3, '0') : value
    })
  const { target } = endpoint
  return { sent: fill(endpoint.path, false), seen: fill(target.kind === 'node' ? target.twin : endpoint.path, true) }
}

/** Whether the response is joined from several; test/system/joined checks the calls for it. */
function isJoined({ method, target }: Endpoint): boolean {
  return target.kind === 'severalNodes' || (target.kind === 'everyNode' && method === 'GET')
}

function nodeOf(endpoint: Endpoint): string {
  return endpoint.target.kind === 'node' ? 'worker-1' : 'master'
}

/** Returns all parameters of the record, and the values that the node must receive. */
function parameters(endpoint: Endpoint): { sent: URLSearchParams; seen: Record<string, string> } {
  const sent = new URLSearchParams()
  const seen: Record<string, string> = {}
  for (const [name, param] of Object.entries(endpoint.query)) {
    const value = sampleOf(name, param.kind)
    sent.set(name, value)
    seen[name] = param.canonical === 'agentIds' ? '001,002' : value
  }
  return { sent, seen }
}

t.test('every endpoint goes to its node, under its path, with its parameters', async (t) => {
  const settings = { access: { limits: { requestsPerSecond: 100_000 } } }
  const { simulator, edge } = await simulated(t, { workers: 2, agents: 20 }, { settings })

  const last = () => simulator.seen.filter(({ headers }) => headers['x-request-id'] !== 'discovery').at(-1)

  async function ask(endpoint: Endpoint, query: URLSearchParams): Promise<{ status: number; text: string }> {
    const fields = bodies[idOf(endpoint)]
    const upload = 'body' in endpoint && endpoint.body?.kind === 'upload'
    const answer = await fetch(`${edge.url}${paths(endpoint).sent}?${query}`, {
      method: endpoint.method,
      headers: {
        authorization: edge.authorization('admin'),
        ...(fields !== undefined && { 'content-type': 'application/json' }),
        ...(upload && { 'content-type': 'application/xml' }),
      },
      ...(fields !== undefined && { body: JSON.stringify(fields) }),
      ...(upload && { body: UPLOAD }),
    })
    return { status: answer.status, text: await answer.text() }
  }

  // Reads of an agent by its name need an agent with that name.
  await fetch(`${edge.url}/agents`, {
    method: 'POST',
    headers: { authorization: edge.authorization('admin'), 'content-type': 'application/json' },
    body: JSON.stringify({ name: pathValues.agent_name, ip: '10.9.9.7' }),
  })

  const remote = catalogue.filter((endpoint) => endpoint.target.kind !== 'edge')
  // Reads first and removals last, because later requests need the objects.
  const ordered = [
    ...remote.filter(({ method }) => method === 'GET'),
    ...remote.filter(({ method }) => method === 'POST' || method === 'PUT'),
    ...remote.filter(({ method, permission }) => method === 'DELETE' && permission !== 'agents:delete'),
    ...remote.filter(({ permission }) => permission === 'agents:delete'),
  ]
  for (const endpoint of ordered) {
    await t.test(idOf(endpoint), async (t) => {
      const { sent, seen } = parameters(endpoint)
      const answer = await ask(endpoint, sent)
      if (isJoined(endpoint)) return t.equal(answer.status, 200, answer.text.slice(0, 200))
      const call = last()
      const url = new URL(call?.url ?? '/', 'http://node')
      t.equal(call?.node, nodeOf(endpoint), 'the right node')
      t.equal(`${call?.method} ${url.pathname}`, `${endpoint.method} ${paths(endpoint).seen}`, 'the right path')
      t.strictSame(Object.fromEntries(url.searchParams), seen, 'the right parameters')
      if (endpoint.method === 'GET') t.equal(call?.headers['x-apicache-bypass'], '1')
      t.equal(call?.headers['x-request-id'] !== undefined, true)
      if (bodies[idOf(endpoint)] !== undefined)
        t.strictSame(
          JSON.parse(call?.body ?? ''),
          seenBodies[idOf(endpoint)] ?? bodies[idOf(endpoint)],
          'the right body',
        )
      t.ok(answer.status === 200 || answer.status === 404, `${answer.status} ${answer.text.slice(0, 200)}`)
      if (endpoint.method !== 'GET')
        t.equal(JSON.parse(answer.text).error, otherErrors[idOf(endpoint)] ?? 0, answer.text.slice(0, 200))
    })
    if (endpoint.method !== 'GET') continue
    await t.test(`${idOf(endpoint)} without filters`, async (t) => {
      const required = Object.entries(endpoint.query).filter(([, param]) => param.required !== undefined)
      const answer = await ask(
        endpoint,
        new URLSearchParams(required.map(([name, param]): [string, string] => [name, sampleOf(name, param.kind)])),
      )
      const body = JSON.parse(answer.text) as { error: number; data: unknown }
      t.equal(body.error, otherErrors[idOf(endpoint)] ?? 0, answer.text.slice(0, 200))
      if (body.error !== 0) return
      if (endpoint.response.data === 'collection') t.match(body.data, { items: Array, totalItems: Number })
      else t.type(body.data, ['text', 'message'].includes(endpoint.response.data) ? 'string' : 'object')
    })
  }
  t.strictSame(simulator.thrown, [], 'nothing failed inside the simulated cluster')
  t.ok(remote.length >= 128, `${remote.length} endpoints`)
})
