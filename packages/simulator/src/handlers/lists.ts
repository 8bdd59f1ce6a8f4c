/** CDB lists. As in the real API, a page is cut before it is searched and sorted, and its total is its length. */
import { sources } from '../../../../src/collections/sources.ts'
import { readList } from '../data/list-files.ts'
import { pageOf } from '../data/page.ts'
import { FrameworkError, type SimHandlers, type SimNode, type SimRequest } from '../model.ts'
import { refusal } from '../texts.ts'

const FOLDER = 'etc/lists/'

/** In the order of folders: files first, then subfolders. */
function pathsOf({ files }: SimNode): string[] {
  const depth = (path: string) => path.split('/').length
  return [...files.keys()].filter((path) => path.startsWith(FOLDER)).sort((a, b) => depth(a) - depth(b))
}

function read({ files }: SimNode, path: string) {
  const pairs = readList(files.get(path) ?? '')
  if (pairs === undefined) throw new FrameworkError(1800, `Bad format in CDB list: ${path}`)
  return pairs
}

/** With `path` an item is only the array of pairs; otherwise it also has its path. */
function lists(request: SimRequest) {
  const { path, ...query } = request.query
  const { node } = request
  if (path === undefined) {
    const rows = pathsOf(node).map((known) => ({ path: known, items: read(node, known) }))
    return pageOf(rows, request, sources.lists)
  }
  if (!path.startsWith(FOLDER) || path.includes('./')) throw new FrameworkError(1801, "Wrong 'path' parameter")
  if (!node.files.has(path)) throw refusal(1006)
  const pairs = read(node, path)
  const { items } = pageOf([{ path, items: pairs }], request, sources.lists, query)
  return { totalItems: items.length, items: items.map(() => pairs) }
}

function listFiles(request: SimRequest) {
  const rows = pathsOf(request.node).map((known) => {
    const slash = known.lastIndexOf('/')
    return { path: known.slice(0, slash), name: known.slice(slash + 1) }
  })
  return pageOf(rows, request, sources.listFiles)
}

export const listHandlers: SimHandlers = {
  'GET /lists': lists,
  'GET /lists/files': listFiles,
}
