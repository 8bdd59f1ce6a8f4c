/** Records of rules, decoders and CDB lists. The cluster synchronises rules and decoders, so any node can answer. */
import type { V3Endpoint } from '../endpoint.ts'
import { read } from '../record.ts'
import {
  download,
  failingSelect,
  filter,
  filters,
  hiddenQ,
  list,
  rulesetFile,
  rulesetPath,
  rulesetStatus,
  unboundedList,
} from '../schemas/params.ts'
import { anyNode, cacheIn, collectionOf, master } from '../schemas/shared.ts'

const reading = { target: anyNode } as const
const readingRules = { ...reading, permission: 'rules:read', cache: cacheIn('rules', 'rules') } as const

const filesOfRuleset = { ...list, status: rulesetStatus, download, path: rulesetPath, file: rulesetFile }

const requirements = ['pci', 'gdpr', 'hipaa', 'nist-800-53', 'gpg13'] as const

const catalogues: readonly V3Endpoint[] = (['groups', ...requirements] as const).map((name) =>
  read(`/rules/${name}` as const, `All values of ${name} in the rules`, {
    ...readingRules,
    query: list,
    response: collectionOf('RuleText'),
    snapshot: 'catalogue',
  }),
)

const rules: readonly V3Endpoint[] = [
  read('/rules', 'All rules', {
    ...readingRules,
    query: {
      ...list,
      q: hiddenQ,
      status: rulesetStatus,
      group: filter('alphanumeric', 'group'),
      level: filter('ranges', 'level (Range N or N-M)'),
      path: rulesetPath,
      file: rulesetFile,
      ...filters('alphanumeric', ...requirements),
      select: failingSelect,
    },
    response: collectionOf('Rule'),
    snapshot: 'rules',
  }),
  read('/rules/:rule_id', 'One rule', {
    ...readingRules,
    params: { rule_id: filter('numbers', 'rule id') },
    query: list,
    response: collectionOf('Rule'),
    snapshot: 'rules',
  }),
  read('/rules/files', 'Rule files', {
    ...readingRules,
    query: filesOfRuleset,
    response: { ...collectionOf('RuleFile'), raw: { when: 'download', type: 'text/xml' } },
    snapshot: 'ruleFiles',
  }),
  ...catalogues,
]

const readingDecoders = { ...reading, permission: 'decoders:read', cache: cacheIn('decoders', 'decoders') } as const

const decoders: readonly V3Endpoint[] = [
  read('/decoders', 'All decoders', {
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
    snapshot: 'decoders',
  }),
  read('/decoders/files', 'Decoder files', {
    ...readingDecoders,
    query: filesOfRuleset,
    response: { ...collectionOf('DecoderFile'), raw: { when: 'download', type: 'text/xml' } },
    snapshot: 'decoderFiles',
  }),
  read('/decoders/parents', 'Parent decoders', {
    ...readingDecoders,
    query: list,
    response: collectionOf('Decoder'),
    snapshot: 'decoders',
  }),
  read('/decoders/:decoder_name', 'Decoders of one name', {
    ...readingDecoders,
    params: { decoder_name: filter('names', 'decoder name') },
    query: list,
    response: collectionOf('Decoder'),
    snapshot: 'decoders',
  }),
]

const readingLists = {
  ...reading,
  target: master,
  permission: 'lists:read',
  cache: cacheIn('lists', 'lists'),
} as const

const lists: readonly V3Endpoint[] = [
  read('/lists', 'Contents of the lists', {
    ...readingLists,
    query: {
      ...unboundedList,
      path: {
        ...filter('paths', 'path filter'),
        note: 'outside etc/lists gives 1801, a missing file 1006; the manager checks it',
      },
    },
    response: collectionOf('ListContents'),
    storedRows: 'lists',
  }),
  read('/lists/files', 'Files of the lists', {
    ...readingLists,
    query: unboundedList,
    response: collectionOf('ListFile'),
    snapshot: 'listFiles',
  }),
]

export const ruleset: readonly V3Endpoint[] = [...decoders, ...rules, ...lists]
