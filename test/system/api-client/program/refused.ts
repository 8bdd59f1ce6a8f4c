/** Mistakes that the compiler refuses. `tsc` fails if one of them is accepted. */
import createClient from 'openapi-fetch'
import type { paths } from './api.ts'

const client = createClient<paths>({ baseUrl: '' })
const { data } = await client.GET('/agents')

// @ts-expect-error: whether the request failed is not known yet
export const items = data.data.items

// @ts-expect-error: a failure has no data
if (data !== undefined && data.error === 1701) console.log(data.data)

// @ts-expect-error: a success has no message
if (data?.error === 0) console.log(data.message)

// @ts-expect-error: agents have no such field
if (data?.error === 0) console.log(data.data.items[0]?.colour)

// @ts-expect-error: with select, each field may be missing
if (data?.error === 0) console.log(data.data.items[0]?.name.length)

// @ts-expect-error: a code that no response has
if (data?.error === 123456) console.log()

// @ts-expect-error: no such path
await client.GET('/agent')

// @ts-expect-error: the parameter is a number
await client.GET('/agents', { params: { query: { limit: 'all' } } })

// @ts-expect-error: the endpoint needs an id
await client.GET('/agents/{agent_id}')
