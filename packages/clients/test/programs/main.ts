/** A program with the TypeScript package. It prints one line of JSON. */
import { allRows, createClassicClient, createNewerClient } from '@manager-edge/client'

const [url = '', newerUrl = '', password = ''] = process.argv.slice(2)
const client = createClassicClient({ url, credentials: { user: 'admin', password } })

const agents = allRows(async (offset) => {
  const { data, error } = await client.GET('/agents', { params: { query: { limit: 4, offset, sort: '+id' } } })
  if (data === undefined) throw new Error(error.message)
  if (data.error !== 0) throw new Error(`${data.error}: ${data.message}`)
  return { rows: data.data.items, total: data.data.totalItems }
})
const ids: string[] = []
for await (const { id } of agents) ids.push(id ?? '')

const wrong = createClassicClient({ url, credentials: { user: 'admin', password: 'wrong' } })
const refused = await wrong.GET('/agents')

const newer = createNewerClient({ url: newerUrl, credentials: { user: 'admin', password } })
const listed = await newer.GET('/agents', { params: { query: { limit: 2 } } })
const written = await newer.PUT('/agents/{agent_id}/restart', { params: { path: { agent_id: '001' } } })

console.log(
  JSON.stringify({
    ids,
    refused: refused.error?.error,
    message: refused.error?.message,
    newer: listed.data?.data?.affected_items?.length,
    written: written.response.status,
  }),
)
