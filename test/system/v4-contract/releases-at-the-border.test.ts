/** What the API of each release does in its own way, the edge does as the lowest release of the nodes behind it. */

import t, { type Test } from 'tap'
import { Agent, request } from 'undici'
import { startSimulator } from '../../../packages/simulator/src/index.ts'
import { startEdge } from '../../support/edge.ts'
import { eventually } from '../../support/eventually.ts'

const [EARLIER, LATER] = ['4.5.4', '4.14.7'] as const
type Release = typeof EARLIER | typeof LATER

interface Fact {
  readonly method?: string
  readonly path: string
  readonly type?: string
  readonly body?: string
  /** Status and title by release, and where the client is sent. */
  readonly expected: Readonly<Record<Release, readonly [status: number, title?: string | undefined, location?: string]>>
}

const agent = '{"name":"at-the-border","ip":"10.9.9.9"}'
const isFound = [200] as const
const isRefused = [400, 'Bad Request'] as const
const isMissing = [404, 'Not Found'] as const
const inEarlier = (expected: Fact['expected'][Release], later: Fact['expected'][Release]) => ({
  [EARLIER]: expected,
  [LATER]: later,
})
const wrongType = inEarlier([406, 'Not Acceptable'], [415, 'Unsupported Media Type'])
const emptyValue = inEarlier(isFound, isRefused)
const encodedSlash = inEarlier(isRefused, isMissing)
const moved = (location: string) => [307, undefined, location] as const

const FACTS: readonly Fact[] = [
  ...[
    'text/plain',
    'application/xml',
    'application/octet-stream',
    'application/x-www-form-urlencoded',
    'TEXT/PLAIN; charset=utf-8',
  ].map((type) => ({ method: 'POST', path: '/agents', type, body: agent, expected: wrongType })),
  { method: 'PUT', path: '/groups/default/configuration', type: 'application/json', body: '{}', expected: wrongType },
  { method: 'PUT', path: '/lists/files/border', type: 'application/json', body: '{}', expected: wrongType },
  { method: 'PUT', path: '/rules/files/border.xml', type: 'text/xml', body: '<group/>', expected: wrongType },
  // The type is checked before the parameters.
  {
    method: 'PUT',
    path: '/security/policies/x',
    type: 'text/plain',
    body: '{"name":"border"}',
    expected: inEarlier(isRefused, wrongType[LATER]),
  },
  {
    method: 'POST',
    path: '/agents?nope=1',
    type: 'text/plain',
    body: agent,
    expected: inEarlier(isRefused, wrongType[LATER]),
  },
  { method: 'POST', path: '/agents', body: '', expected: inEarlier(isRefused, isRefused) },
  { method: 'POST', path: '/agents', type: 'application/json', body: '', expected: inEarlier(isRefused, isRefused) },
  ...[
    'limit=',
    'limit',
    'foo=',
    'foo',
    'pretty=',
    'pretty',
    'search=',
    'status=',
    'agents_list=',
    'limit=3&limit=',
  ].map((query) => ({
    path: `/agents?${query}`,
    expected: emptyValue,
  })),
  { path: '/agents?limit=&limit=3', expected: inEarlier(isFound, isFound) },
  { path: '/agents?&limit=3&', expected: inEarlier(isFound, isFound) },
  { path: '/agents?', expected: inEarlier(isFound, isFound) },
  { path: '/manager/logs?tag=', expected: emptyValue },
  { path: '/agents/', expected: inEarlier(isFound, moved('/agents')) },
  { path: '/agents/?limit=3&x=%20', expected: inEarlier(isRefused, moved('/agents?limit=3&x=%20')) },
  { path: '/agents/000/key/', expected: inEarlier(isFound, moved('/agents/000/key')) },
  { path: '/agents//', expected: inEarlier(isMissing, moved('/agents')) },
  { path: '/nope/', expected: inEarlier(isMissing, isMissing) },
  {
    method: 'POST',
    path: '/groups/',
    type: 'application/json',
    body: '{}',
    expected: inEarlier(isRefused, moved('/groups')),
  },
  { path: '//agents', expected: inEarlier([308, undefined, '/agents'], isMissing) },
  { path: '//agents/', expected: inEarlier([308, undefined, '/agents/'], isMissing) },
  { path: '//agents?limit=1', expected: inEarlier([308, undefined, '/agents?limit=1'], isMissing) },
  { path: '/', expected: inEarlier(isFound, isFound) },
  ...['..%2F', '..%2fx', 'a%2Fb', '%2F'].flatMap((value) => [
    { path: `/rules/files/${value}`, expected: encodedSlash },
    { path: `/lists/files/${value}`, expected: encodedSlash },
    { path: `/agents/${value}/key`, expected: encodedSlash },
  ]),
  { path: '/agents/..%252F/key', expected: inEarlier(isRefused, isRefused) },
]

interface Shown {
  readonly status: number
  readonly title: string | undefined
  readonly location: string | undefined
}

const dispatcher = new Agent({ connections: 1 })
t.teardown(() => dispatcher.close())

async function ask(
  url: string,
  token: string,
  { method = 'GET', path, type, body }: Omit<Fact, 'expected'>,
): Promise<Shown> {
  const response = await request(url + path, {
    dispatcher,
    method: method as 'GET',
    headers: { authorization: `Bearer ${token}`, ...(type !== undefined && { 'content-type': type }) },
    ...(body !== undefined && { body }),
  })
  const text = await response.body.text()
  const isProblem = String(response.headers['content-type']).startsWith('application/problem+json')
  const title = isProblem ? (JSON.parse(text) as { title: string }).title : undefined
  const { location } = response.headers
  return { status: response.statusCode, title, location: location === undefined ? undefined : String(location) }
}

async function tokenOf(url: string, authorization: string): Promise<string> {
  const response = await fetch(`${url}/security/user/authenticate?raw=true`, {
    method: 'POST',
    headers: { authorization },
  })
  return response.text()
}

/** The node sends its redirects without a body, so they have no title. */
function expectedShown([status, title, location]: Fact['expected'][Release]): Partial<Shown> {
  return { status, ...(status >= 400 && { title }), ...(location !== undefined && { location }) }
}

async function check(t: Test, url: string, token: string, release: Release): Promise<void> {
  for (const fact of FACTS) {
    const { method = 'GET', path, type = '' } = fact
    t.match(await ask(url, token, fact), expectedShown(fact.expected[release]), `${release}: ${method} ${path} ${type}`)
  }
}

const basicOf = (name: string, password: string) => `Basic ${btoa(`${name}:${password}`)}`

for (const release of [EARLIER, LATER]) {
  t.test(`a simulated node of ${release}`, async (t) => {
    const simulator = await startSimulator({ layout: 'v4', workers: 0, agents: 3, version: release })
    t.teardown(() => simulator.close())
    const [{ url } = { url: '' }] = simulator.nodes
    await check(t, url, await tokenOf(url, basicOf('edge', 'simulated')), release)
  })
}

t.test('an edge follows the lowest release of its nodes', async (t) => {
  const PASSWORD = 'simulated'
  const simulator = await startSimulator({ layout: 'v4', workers: 1, agents: 3, version: EARLIER })
  t.teardown(() => simulator.close())
  const edge = await startEdge({
    nodes: simulator.nodes,
    password: PASSWORD,
    settings: {
      listen: { contract: 'v4' },
      cluster: { layout: 'v4', limits: { perMinute: 0 } },
      access: { limits: { requestsPerSecond: 100_000 } },
    },
  })
  t.teardown(() => edge.close())
  const token = await tokenOf(edge.url, edge.authorization('admin'))
  const upgrade = async (at: number, version: Release): Promise<void> => {
    const node = simulator.world.nodes[at]
    if (node !== undefined) node.version = version
  }
  const shows = (release: Release) => async () => {
    // The edge takes the releases from each list of nodes that a client reads.
    const headers = { authorization: `Bearer ${token}`, 'cache-control': 'no-cache' }
    await (await fetch(`${edge.url}/cluster/nodes`, { headers })).arrayBuffer()
    const fact = { path: '//agents' }
    return (await ask(edge.url, token, fact)).status === (release === EARLIER ? 308 : 404)
  }
  await eventually(shows(EARLIER))
  await check(t, edge.url, token, EARLIER)
  // From now on these URLs are prepared hits.
  for (const fact of FACTS) await ask(edge.url, token, fact)
  await check(t, edge.url, token, EARLIER)
  await upgrade(0, LATER)
  await upgrade(1, EARLIER)
  await check(t, edge.url, token, EARLIER)
  await upgrade(1, LATER)
  await eventually(shows(LATER))
  await check(t, edge.url, token, LATER)
  t.strictSame(simulator.thrown, [])
})
