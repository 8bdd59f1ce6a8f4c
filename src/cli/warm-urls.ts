/** What `manager-edge warm` reads: the list of URLs to request. */
import { SNAPSHOT_MARK } from '../cache/key.ts'
import type { Contract } from '../catalogue/endpoint.ts'
import { parseName } from '../core/request.ts'
import { ownField, parseJson } from '../core/values.ts'
import { collectionContracts } from '../query/contracts.ts'
import { EXIT_CODES } from '../server/exit.ts'
import { type EdgeClient, UnauthorizedError } from './edge-client.ts'
import { CommandError, readTextFile } from './terminal.ts'

/** Reads the paths of a file, each once, in its order. Skips empty lines and lines that start with #. */
export async function readPaths(file: string, edge: URL): Promise<readonly string[]> {
  const text = await readTextFile(file)
  const faults: string[] = []
  const paths = text.split(/\r?\n/).flatMap((line, index) => {
    const entry = line.trim()
    if (entry === '' || entry.startsWith('#')) return []
    const path = parsePath(entry, edge)
    if (path === undefined)
      faults.push(`${file} line ${index + 1}: write a path such as /agents, or a URL of ${edge.origin}`)
    return path ?? []
  })
  if (faults.length > 0) throw new CommandError(faults.slice(0, 10).join('\n'), EXIT_CODES.configuration)
  return [...new Set(paths)]
}

/** Returns `undefined` for a URL of another origin, because the credentials are for this edge only. */
function parsePath(entry: string, edge: URL): string | undefined {
  if (/\s/.test(entry) || !URL.canParse(entry, edge.origin)) return undefined
  const url = new URL(entry, edge)
  const isPathOrUrl = entry.startsWith('/') || /^https?:\/\//.test(entry)
  return isPathOrUrl && url.origin === edge.origin ? url.pathname + url.search : undefined
}

/** Rows of one page of `GET /cache`; the maximum of its parameter `limit` in the classic contract. */
const PAGE_SIZE = 1000
/** A snapshot is built for the second query of a collection, and then answers both. */
const SNAPSHOT_QUERIES = ['?limit=1', '?limit=2']

/** The query for the rows with details. */
const DETAILS = { classic: { details: 'true' }, newer: {} } as const

/** Returns the URLs of the stored responses of a contract with the most hits, the busiest first. */
export async function fetchBusiest(edge: EdgeClient, count: number, contract: Contract): Promise<readonly string[]> {
  const { rowsName, totalName } = collectionContracts[contract]
  const names = new Set<string>()
  for (let offset = 0; names.size < count; offset += PAGE_SIZE) {
    const page = new URLSearchParams({
      ...DETAILS[contract],
      sort: '-hits',
      limit: String(PAGE_SIZE),
      offset: String(offset),
    })
    const { status, text } = await edge.getText(`/cache?${page}`)
    if (status === 401) throw new UnauthorizedError()
    const data = ownField(status === 200 ? parseJson(text) : undefined, 'data')
    const [rows, all] = [ownField(data, rowsName), ownField(data, totalName)]
    if (!Array.isArray(rows) || typeof all !== 'number') {
      const remedy = `it needs the permission cache:read, and --contract ${contract} a port for this contract`
      throw new CommandError(`GET /cache has status ${status}: ${text.slice(0, 200)}; ${remedy}`)
    }
    for (const { url } of rows) if (names.size < count && isOfContract(url, contract)) names.add(nameOfRequest(url))
    if (offset + PAGE_SIZE >= all) break
  }
  return [...names].flatMap((name) => urlsOf(parseName(name, contract).path))
}

/** Each contract lists the stored responses of both. */
function isOfContract(url: unknown, contract: Contract): url is string {
  return typeof url === 'string' && parseName(url, contract).contract === contract
}

/** Removes the name of the node from a part of a joined response: clients request the whole. */
function nameOfRequest(url: string): string {
  return url.endsWith(SNAPSHOT_MARK) ? url : url.replace(/#.*/, '')
}

function urlsOf(path: string): readonly string[] {
  if (!path.endsWith(SNAPSHOT_MARK)) return [path]
  const collection = path.slice(0, -SNAPSHOT_MARK.length)
  return SNAPSHOT_QUERIES.map((query) => collection + query)
}
