/** Decoders; the cluster holds them equal on all nodes. */
import type { Endpoint } from './endpoint.ts'
import { read } from './record.ts'
import { collectionOf } from './schemas/answers.ts'
import {
  download,
  failingSelect,
  filter,
  hiddenQ,
  list,
  rulesetFile,
  rulesetPath,
  rulesetStatus,
} from './schemas/params.ts'
import { keepIn } from './schemas/tags.ts'
import { anyNode } from './schemas/targets.ts'

const reading = {
  section: 'Decoders, rules, lists',
  strictQuery: true,
  permission: 'decoders:read',
  target: anyNode,
  cache: keepIn('decoders', 'decoders'),
} as const

export const decoders: readonly Endpoint[] = [
  read({
    path: '/decoders',
    summary: 'All decoders',
    ...reading,
    query: {
      ...list,
      q: hiddenQ,
      file: rulesetFile,
      path: rulesetPath,
      status: rulesetStatus,
      select: failingSelect,
    },
    response: collectionOf('Decoder'),
  }),
  read({
    path: '/decoders/files',
    summary: 'Decoder files',
    ...reading,
    query: { ...list, status: rulesetStatus, file: rulesetFile, path: rulesetPath, download },
    response: { ...collectionOf('Decoder file'), raw: { when: 'download', type: 'text/xml' } },
  }),
  read({
    path: '/decoders/parents',
    summary: 'Parent decoders',
    ...reading,
    query: list,
    response: collectionOf('Decoder'),
  }),
  read({
    path: '/decoders/:decoder_name',
    summary: 'Decoders of one name',
    ...reading,
    params: { decoder_name: filter('names', 'decoder name') },
    query: list,
    response: collectionOf('Decoder'),
  }),
]
