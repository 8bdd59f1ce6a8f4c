/** A program with the TypeScript package. It prints one line of JSON. */
import { allRows, createV3Client, createV4Client } from '@manager-edge/client'

const [url = '', v4Url = '', password = ''] = process.argv.slice(2)
const client = createV3Client({ url, credentials: { user: 'admin', password } })

const agents = allRows(async (offset) => {
  const { data, error } = await client.GET('/agents', { params: { query: { limit: 4, offset, sort: '+id' } } })
  if (data === undefined) throw new Error(error.message)
  if (data.error !== 0) throw new Error(`${data.error}: ${data.message}`)
  return { rows: data.data.items, total: data.data.totalItems }
})
const ids: string[] = []
for await (const { id } of agents) ids.push(id ?? '')

const wrong = createV3Client({ url, credentials: { user: 'admin', password: 'wrong' } })
const refused = await wrong.GET('/agents')

const v4 = createV4Client({ url: v4Url, credentials: { user: 'admin', password } })
const listed = await v4.GET('/agents', { params: { query: { limit: 2 } } })
const written = await v4.PUT('/agents/{agent_id}/restart', { params: { path: { agent_id: '001' } } })

console.log(
  JSON.stringify({
    ids,
    refused: refused.error?.error,
    message: refused.error?.message,
    v4: listed.data?.data?.affected_items?.length,
    written: written.response.status,
  }),
)
