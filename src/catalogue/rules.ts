/** Rules and the catalogues of what they name; the cluster holds them equal on all nodes. */
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
  permission: 'rules:read',
  target: anyNode,
  cache: keepIn('rules', 'rules'),
} as const

const requirements = ['pci', 'gdpr', 'hipaa', 'nist-800-53', 'gpg13'] as const
const requirementFilters = Object.fromEntries(requirements.map((name) => [name, filter('alphanumeric', name)]))

const catalogues: readonly Endpoint[] = ['groups', ...requirements].map((name) =>
  read<string>({
    path: `/rules/${name}`,
    summary: `All values of ${name} in the rules`,
    ...reading,
    params: {},
    query: list,
    response: collectionOf('String'),
  }),
)

export const rules: readonly Endpoint[] = [
  read({
    path: '/rules',
    summary: 'All rules',
    ...reading,
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
  }),
  read({
    path: '/rules/:rule_id',
    summary: 'One rule',
    ...reading,
    params: { rule_id: filter('numbers', 'rule id') },
    query: list,
    response: collectionOf('Rule'),
  }),
  read({
    path: '/rules/files',
    summary: 'Rule files',
    ...reading,
    query: { ...list, status: rulesetStatus, path: rulesetPath, file: rulesetFile, download },
    response: { ...collectionOf('Rule file'), raw: { when: 'download', type: 'text/xml' } },
  }),
  ...catalogues,
]
