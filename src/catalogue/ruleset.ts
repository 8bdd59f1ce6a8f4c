/** Records of rules, decoders and CDB lists. The cluster synchronises rules and decoders, so any node can answer. */
import type { Endpoint } from './endpoint.ts'
import { read } from './record.ts'
import {
  download,
  failingSelect,
  filter,
  hiddenQ,
  list,
  rulesetFile,
  rulesetPath,
  rulesetStatus,
  unboundedList,
} from './schemas/params.ts'
import { collectionOf } from './schemas/responses.ts'
import { anyNode, cacheIn, master, withSnapshot } from './schemas/targets.ts'

const reading = { section: 'Decoders, rules, lists', strictQuery: true, target: anyNode } as const
const readingRules = { ...reading, permission: 'rules:read', cache: cacheIn('rules', 'rules') } as const

const filesOfRuleset = { ...list, status: rulesetStatus, download, path: rulesetPath, file: rulesetFile }

const requirements = ['pci', 'gdpr', 'hipaa', 'nist-800-53', 'gpg13'] as const
const requirementFilters = Object.fromEntries(requirements.map((name) => [name, filter('alphanumeric', name)]))

const catalogues: readonly Endpoint[] = (['groups', ...requirements] as const).map((name) =>
  read({
    path: `/rules/${name}` as const,
    summary: `All values of ${name} in the rules`,
    ...readingRules,
    query: list,
    response: collectionOf('RuleText'),
    cache: withSnapshot('catalogue', readingRules.cache),
  }),
)

export const rules: readonly Endpoint[] = [
  read({
    path: '/rules',
    summary: 'All rules',
    ...readingRules,
    query: {
      ...list,
      q: hiddenQ,
      status: rulesetStatus,
      group: filter('alphanumeric', 'group'),
      level: filter('ranges', 'level (Range N or N-M)'),
      path: rulesetPath,
      file: rulesetFile,
      ...requirementFilters,
      select: failingSelect,
    },
    response: collectionOf('Rule'),
    cache: withSnapshot('rules', readingRules.cache),
  }),
  read({
    path: '/rules/:rule_id',
    summary: 'One rule',
    ...readingRules,
    params: { rule_id: filter('numbers', 'rule id') },
    query: list,
    response: collectionOf('Rule'),
    cache: withSnapshot('rules', readingRules.cache),
  }),
  read({
    path: '/rules/files',
    summary: 'Rule files',
    ...readingRules,
    query: filesOfRuleset,
    response: { ...collectionOf('RuleFile'), raw: { when: 'download', type: 'text/xml' } },
    cache: withSnapshot('ruleFiles', readingRules.cache),
  }),
  ...catalogues,
]

const readingDecoders = { ...reading, permission: 'decoders:read', cache: cacheIn('decoders', 'decoders') } as const

export const decoders: readonly Endpoint[] = [
  read({
    path: '/decoders',
    summary: 'All decoders',
    ...readingDecoders,
    query: {
      ...list,
      q: hiddenQ,
      status: rulesetStatus,
      path: rulesetPath,
      file: rulesetFile,
      select: failingSelect,
    },
    response: collectionOf('Decoder'),
    cache: withSnapshot('decoders', readingDecoders.cache),
  }),
  read({
    path: '/decoders/files',
    summary: 'Decoder files',
    ...readingDecoders,
    query: filesOfRuleset,
    response: { ...collectionOf('DecoderFile'), raw: { when: 'download', type: 'text/xml' } },
    cache: withSnapshot('decoderFiles', readingDecoders.cache),
  }),
  read({
    path: '/decoders/parents',
    summary: 'Parent decoders',
    ...readingDecoders,
    query: list,
    response: collectionOf('Decoder'),
    cache: withSnapshot('decoders', readingDecoders.cache),
  }),
  read({
    path: '/decoders/:decoder_name',
    summary: 'Decoders of one name',
    ...readingDecoders,
    params: { decoder_name: filter('names', 'decoder name') },
    query: list,
    response: collectionOf('Decoder'),
    cache: withSnapshot('decoders', readingDecoders.cache),
  }),
]

const readingLists = {
  ...reading,
  target: master,
  permission: 'lists:read',
  cache: cacheIn('lists', 'lists'),
} as const

export const lists: readonly Endpoint[] = [
  read({
    path: '/lists',
    summary: 'Contents of the lists',
    ...readingLists,
    query: {
      ...unboundedList,
      path: {
        ...filter('paths', 'path filter'),
        note: 'outside etc/lists gives 1801, a missing file 1006; the manager checks it',
      },
    },
    response: collectionOf('ListContents'),
  }),
  read({
    path: '/lists/files',
    summary: 'Files of the lists',
    ...readingLists,
    query: unboundedList,
    response: collectionOf('ListFile'),
    cache: withSnapshot('listFiles', readingLists.cache),
  }),
]
