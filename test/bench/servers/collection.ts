/** A node with a given number of agents, which responds at once with prepared rows. */
import { createServer } from 'node:http'
import { addressOf } from '../cluster/names.ts'
import { agentRow } from '../derived/rows.ts'

const [port = '0', count = '5000'] = process.argv.slice(2)
const total = Number(count)
const rows = Array.from({ length: total }, (_, at) => JSON.stringify(agentRow(at)))

function answer(target: string): string {
  const { pathname, searchParams } = new URL(target, 'http://node')
  if (/^\/cluster\/[^/]+\/info$/.test(pathname)) return JSON.stringify({ error: 1000, message: 'Internal error' })
  if (pathname !== '/agents') return JSON.stringify({ error: 0, data: {} })
  const offset = Number(searchParams.get('offset') ?? 0)
  const page = rows.slice(offset, offset + Number(searchParams.get('limit') ?? 500))
  return `{"error":0,"data":{"items":[${page.join(',')}],"totalItems":${total}}}`
}

createServer((request, response) => {
  request.resume()
  response.writeHead(200, { 'content-type': 'application/json; charset=utf-8' }).end(answer(request.url ?? '/'))
}).listen(Number(port), addressOf(0))
