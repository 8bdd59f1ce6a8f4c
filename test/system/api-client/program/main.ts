/** A program of a client, with types from the OpenAPI document. It prints one line of JSON. */
import createClient from 'openapi-fetch'
import type { components, paths } from './api.ts'

type Agent = components['schemas']['Agent']
type Package = components['schemas']['Package']

const [baseUrl = '', authorization = ''] = process.argv.slice(2)
const client = createClient<paths>({ baseUrl, headers: { authorization } })

async function listAgents(): Promise<readonly Agent[]> {
  const { data, error } = await client.GET('/agents', { params: { query: { limit: 5, sort: '+id' } } })
  if (data === undefined) throw new Error(error.message)
  if (data.error !== 0) throw new Error(`${data.error}: ${data.message}`)
  return data.data.items
}

/** Returns all packages of an agent, and the number of pages. */
async function packagesOf(agent_id: string): Promise<{ readonly all: readonly Package[]; readonly pages: number }> {
  const all: Package[] = []
  for (let pages = 1; ; pages++) {
    const { data } = await client.GET('/syscollector/{agent_id}/packages', {
      params: { path: { agent_id }, query: { limit: 10, offset: all.length, sort: '+name' } },
    })
    if (data === undefined || data.error !== 0) throw new Error(`page ${pages}: ${data?.message}`)
    all.push(...data.data.items)
    if (data.data.items.length === 0 || all.length >= data.data.totalItems) return { all, pages }
  }
}

async function purge(group: string): Promise<string> {
  const { data } = await client.DELETE('/cache/{group}', { params: { path: { group } } })
  if (data === undefined || data.error !== 0) return 'failed'
  const listing = data.data
  if ('entries' in listing) return `would remove ${listing.entries} responses, ${listing.bytes} bytes`
  const left = listing.groups[group] ?? []
  return `${typeof left === 'number' ? left : left.length} left`
}

/** An error of the manager has HTTP status 200, an error of the edge another status. */
async function errorOf(agent_id: string): Promise<string> {
  const { data, error } = await client.GET('/agents/{agent_id}', { params: { path: { agent_id } } })
  if (error !== undefined) return `edge ${error.error}: ${error.message}`
  return data.error === 0 ? `agent ${data.data.name}` : `manager ${data.error}: ${data.message}`
}

const agents = await listAgents()
const { all, pages } = await packagesOf(agents.find(({ status }) => status === 'Active')?.id ?? '000')
console.log(
  JSON.stringify({
    agents: agents.map(({ id, os }) => [id, os?.platform]),
    packages: all.map(({ name }) => name),
    pages,
    purge: await purge('agents'),
    errors: [await errorOf('000'), await errorOf('999'), await errorOf('abc')],
  }),
)
