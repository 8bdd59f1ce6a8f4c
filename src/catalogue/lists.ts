/** CDB lists, as the master holds them. */
import type { Endpoint } from './endpoint.ts'
import { read } from './record.ts'
import { collectionOf } from './schemas/answers.ts'
import { filter, unboundedList } from './schemas/params.ts'
import { keepIn } from './schemas/tags.ts'
import { master } from './schemas/targets.ts'

const reading = {
  section: 'Decoders, rules, lists',
  strictQuery: true,
  permission: 'lists:read',
  target: master,
  cache: keepIn('lists', 'lists'),
} as const

export const lists: readonly Endpoint[] = [
  read({
    path: '/lists',
    summary: 'Contents of the lists',
    ...reading,
    query: {
      ...unboundedList,
      path: {
        ...filter('paths', 'path filter'),
        note: 'outside etc/lists answers 1801, a missing file 1006: the manager checks it',
      },
    },
    response: collectionOf('CDB list content'),
  }),
  read({
    path: '/lists/files',
    summary: 'Files of the lists',
    ...reading,
    query: unboundedList,
    response: collectionOf('list file'),
  }),
]
