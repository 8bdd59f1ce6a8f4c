/** CDB lists of a node. */
import { readList } from '../../data/list-files.ts'
import type { SimNode } from '../../model.ts'
import { affected } from '../answers.ts'
import { collectRows, type Item, type Table } from '../collection.ts'
import type { Asked, Call } from '../model.ts'
import { membersOf } from '../parameters.ts'

const FOLDER = 'etc/lists/'

const listTable: Table = {
  kind: 'list',
  fields: ['relative_dirname', 'filename', 'items'],
  sortable: ['filename', 'relative_dirname'],
  keys: ['relative_dirname', 'filename'],
}
const fileTable: Table = { kind: 'list', fields: ['filename', 'relative_dirname'] }

/** Files first, then those of folders. */
function listPaths({ files }: SimNode): string[] {
  const depth = (path: string) => path.split('/').length
  return [...files.keys()].filter((path) => path.startsWith(FOLDER)).sort((a, b) => depth(a) - depth(b))
}

function rowsOf(asked: Asked, shown: (path: string) => Item) {
  const { query, node, allowsNamed } = asked
  const names = membersOf(query.filename)
  return listPaths(node)
    .map((path) => ({ path, at: path.lastIndexOf('/') }))
    .map(({ path, at }) => ({ path, relative_dirname: path.slice(0, at), filename: path.slice(at + 1) }))
    .filter(({ relative_dirname: folder, filename }) => {
      if (!allowsNamed(filename)) return false
      return (query.relative_dirname ?? folder) === folder && (names?.includes(filename) ?? true)
    })
    .map(({ path, ...names }) => ({ ...names, ...shown(path) }))
}

function lists(asked: Asked) {
  const rows = rowsOf(asked, (path) => ({ items: readList(asked.node.files.get(path) ?? '') ?? [] }))
  const { items, total } = collectRows(rows, listTable, asked.query, asked.world.now())
  return affected(items, { total })
}

function listFiles(asked: Asked) {
  const { items, total } = collectRows(
    rowsOf(asked, () => ({})),
    fileTable,
    asked.query,
    asked.world.now(),
  )
  return affected(items, { total })
}

const reads = { action: 'lists:read', type: 'list:file', named: 'none' } as const

export const listCalls: readonly Call[] = [
  {
    method: 'GET',
    path: '/lists',
    runs: 'here',
    needs: [reads],
    texts: {
      all: 'All specified lists were returned',
      some: 'Some lists were not returned',
      none: 'No list was returned',
    },
    run: lists,
  },
  {
    method: 'GET',
    path: '/lists/files',
    runs: 'here',
    needs: [reads],
    texts: {
      all: 'All specified paths were returned',
      some: 'Some paths were not returned',
      none: 'No path was returned',
    },
    run: listFiles,
  },
]
