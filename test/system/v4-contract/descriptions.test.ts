/** Both ports for clients, and the operations listener, describe both contracts. */
import t from 'tap'
import { bothPorts } from './both-ports.ts'

interface Description {
  readonly openapi: string
  readonly paths: Readonly<Record<string, Readonly<Record<string, object>>>>
}

const documents = [
  { path: '/openapi.json', has: '/agents/{agent_id}', lacks: '/mitre/tactics' },
  { path: '/openapi-v4.json', has: '/mitre/tactics', lacks: '/agents/{agent_id}' },
]

t.test('each listener has the same two documents, with entity tags', async (t) => {
  const { edges, v3, v4 } = await bothPorts(t)
  const [edge] = edges
  for (const { path, has, lacks } of documents) {
    const atOperations = await fetch(`${edge?.operationsUrl}${path}`, {
      headers: { authorization: edge?.authorization('operator') ?? '' },
    })
    const text = await atOperations.text()
    const { openapi, paths } = JSON.parse(text) as Description
    t.equal(openapi, '3.1.0')
    t.ok(has in paths && !(lacks in paths) && '/cache' in paths, path)
    t.equal((await v3(0, path, { user: 'reader' })).text, text)
    t.equal((await v4(0, path, { user: 'reader' })).text, text)
    const etag = atOperations.headers.get('etag') ?? ''
    t.match(etag, /^".+"$/)
    const again = await fetch(`${edge?.url}${path}`, {
      headers: { authorization: edge?.authorization('reader') ?? '', 'if-none-match': etag },
    })
    t.equal(again.status, 304)
    t.equal((await fetch(`${edge?.secondUrl}${path}`)).status, 401)
  }
})
