/** Nodes behind a cache: the age with which a response arrives is part of its age, and of its freshness lifetime. */
import http from 'node:http'
import type { AddressInfo } from 'node:net'
import t, { type Test } from 'tap'
import { startSimulator } from '../../../packages/simulator/src/index.ts'
import { startEdge } from '../../support/edge.ts'

const AGE = 300

/** Passes requests on to the node, and adds an `Age` to each response. */
async function startCache(t: Test, node: string): Promise<string> {
  const server = http.createServer((request, response) => {
    const { method, headers, url } = request
    const forwarded = http.request(`${node}${url}`, { method, headers }, (answer) => {
      response.writeHead(answer.statusCode ?? 0, { ...answer.headers, age: String(AGE) })
      answer.pipe(response)
    })
    request.pipe(forwarded)
  })
  await new Promise<void>((done) => void server.listen(0, '127.0.0.1', done))
  t.teardown(() => server.close())
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

/** The ways in which a response is made of those of nodes. */
const paths = {
  'one node': '/rules?search=ssh&limit=3',
  'one agent': '/agents/001',
  joined: '/experimental/syscollector/os',
  'a page of a snapshot': '/decoders?limit=3&sort=-name',
  'two pages of a snapshot': '/rules?limit=2&offset=3&sort=-level',
}

for (const layout of ['v3', 'v4'] as const)
  for (const ttl of [1000, AGE - 1])
    t.test(`layout ${layout}, a TTL of ${ttl} s`, async (t) => {
      const simulator = await startSimulator({
        workers: 1,
        agents: 5,
        username: 'edge',
        password: 'only-for-tests',
        layout,
      })
      const nodes = await Promise.all(
        simulator.nodes.map(async (node) => ({ ...node, url: await startCache(t, node.url) })),
      )
      const lifetimes = Object.fromEntries(
        ['agents', 'rules', 'decoders', 'syscollector'].map((group) => [group, `${ttl}s`]),
      )
      const edge = await startEdge({ nodes, settings: { cluster: { layout }, cache: { ttl: lifetimes } } })
      t.teardown(async () => {
        await edge.close()
        await simulator.close()
      })
      for (const [name, path] of Object.entries(paths)) {
        const read = async () => {
          const response = await fetch(`${edge.url}${path}`, {
            headers: { authorization: edge.authorization('admin') },
          })
          t.equal(response.status, 200, `${name}: ${await response.text()}`)
          const cache = response.headers.get('cache-status') ?? ''
          return { age: Number(response.headers.get('age') ?? -1), isHit: cache.includes('hit'), cache }
        }
        for (let i = 0; i < 4; i += 1) {
          const { age, isHit, cache } = await read()
          t.notOk(age >= 0 && age < AGE, `${name}: age ${age}, ${cache}`)
          t.ok(age < AGE + 60, `${name}: age ${age}`)
          if (ttl < AGE) t.notOk(isHit, `${name}: ${cache}`)
          else if (i === 3) t.ok(isHit, `${name}: ${cache}`)
        }
      }
    })
