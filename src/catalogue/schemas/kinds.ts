/**
 * The kinds of value that a parameter can have: one anchored, linear pattern each, the code that its
 * violation answers (contract/errors.yaml) and the words that follow "Param not valid. ".
 *
 * Where a pattern is stricter than that of the real API, `wider` says what the real
 * one is and `because` why it is narrowed here; a test compares both with contract/endpoints.yaml.
 */
export interface ValueKind {
  /** JSON Schema pattern; anchored at both ends. Absent: the value is not looked at (flags). */
  readonly pattern?: string
  readonly maxLength: number
  /** A grammar beyond regular expressions, checked by name (`query` is the only one). */
  readonly grammar?: 'query'
  readonly code: number
  readonly says: string
  /** The contract's pattern, where this one is stricter. */
  readonly wider?: string
  readonly because?: string
}

const NAME = '[A-Za-z0-9_.-]+'
const NOT_DOTS = '\\.*[A-Za-z0-9_-][A-Za-z0-9_.-]*'

export const kinds = {
  numbers: {
    pattern: '^[0-9]{1,19}$',
    maxLength: 19,
    code: 600,
    says: 'Integer expected.',
    wider: '^[0-9]+$',
    because: 'a number that does not fit 64 bits cannot mean anything to the manager',
  },
  array_numbers: {
    pattern: '^[0-9]{1,19}(?:,[0-9]{1,19})*$',
    maxLength: 8192,
    code: 616,
    says: 'Valid values: array of numbers.',
    wider: '^[0-9]+(,[0-9]+)*$',
    because: 'as numbers',
  },
  names: {
    pattern: `^${NOT_DOTS}$`,
    maxLength: 255,
    code: 601,
    says: 'Valid characters: a-z, A-Z, 0-9, ., _, -.',
    wider: `^${NAME}$`,
    because: 'a name of dots only is a step up in a path',
  },
  array_names: {
    pattern: `^${NOT_DOTS}(?:,${NOT_DOTS})*$`,
    maxLength: 8192,
    code: 621,
    says: 'Valid values: array of names.',
    wider: `^${NAME}(,${NAME})*$`,
    because: 'as names',
  },
  node_names: {
    pattern: `^(?:\\*|${NOT_DOTS}(?:,${NOT_DOTS})*)$`,
    maxLength: 8192,
    code: 601,
    says: 'Valid values: *, or names of nodes, separated by commas.',
  },
  paths: {
    pattern: '^[A-Za-z0-9_.\\\\/:-]+$',
    maxLength: 1024,
    code: 608,
    says: 'Valid characters: a-z, A-Z, 0-9, ., _, -, :, /, \\.',
  },
  dates: { pattern: '^[0-9]{8}$', maxLength: 8, code: 605, says: 'Invalid date. Use the following format: YYYYMMDD.' },
  ips: {
    pattern:
      '^(?:any|ANY|(?:(?:25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9]?[0-9])\\.){3}(?:25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9]?[0-9])(?:/(?:3[0-2]|[12]?[0-9]))?)$',
    maxLength: 18,
    code: 606,
    says: 'IP invalid.',
  },
  alphanumeric: {
    pattern: '^[A-Za-z0-9_,.+: -]+$',
    maxLength: 1024,
    code: 609,
    says: 'Valid characters: a-z, A-Z, 0-9, ., _, -, +.',
    wider: '^[A-Za-z0-9_,.+:\\s-]+$',
    because: 'line feeds and tabs have no place in a filter and would reach the logs of the manager',
  },
  sort: {
    pattern: '^[A-Za-z0-9_,.+ -]+$',
    maxLength: 256,
    code: 611,
    says: 'Valid characters: a-z, A-Z, 0-9, _, -, +, ,.',
    wider: '^[A-Za-z0-9_,.+\\s-]+$',
    because: 'as alphanumeric',
  },
  search: {
    pattern: '^[^;|&^*>\\u0000-\\u001f\\u007f-\\u009f\\u2028\\u2029]+$',
    maxLength: 1024,
    code: 612,
    says: 'Invalid characters: ; & | * ^ >.',
    wider: '^[^;|&^*>]+$',
    because: 'control characters are nobody’s search text and forge lines in logs',
  },
  select: {
    pattern: '^[A-Za-z0-9_,.]+$',
    maxLength: 1024,
    code: 619,
    says: 'Valid characters: a-z A-Z 0-9 space . , _.',
  },
  ranges: {
    pattern: '^(?:[0-9]{1,2}|[0-9]{1,2}-[0-9]{1,2})$',
    maxLength: 5,
    code: 610,
    says: 'Valid values: N or N-M.',
    wider: '^[0-9]+$|^[0-9]{1,2}-[0-9]{1,2}$',
    because: 'levels have two digits at most; a longer number only wakes an interpreter',
  },
  hashes: {
    pattern: '^(?:[A-Fa-f0-9]{32}|[A-Fa-f0-9]{40}|[A-Fa-f0-9]{64})$',
    maxLength: 64,
    code: 613,
    says: 'Valid values: md5, sha1 or sha256 in hexadecimal digits.',
    wider: 'intended: 32, 40 or 64 hex digits; as written upstream it accepts any text',
    because: 'the real filter accepts any text, `; rm -rf /` included',
  },
  key: { pattern: '^[A-Za-z0-9]+$', maxLength: 1024, code: 615, says: 'Valid characters: a-z, A-Z, 0-9.' },
  timeframe: {
    pattern: '^[0-9]{1,19}[dhms]?$',
    maxLength: 20,
    code: 617,
    says: 'Valid characters: [0-9]d|[0-9]h|[0-9]m|[0-9]s|0-9.',
    wider: '^[0-9]+[dhms]?$',
    because: 'as numbers',
  },
  empty_boolean: {
    pattern: '^(?:|true|false)$',
    maxLength: 5,
    code: 623,
    says: 'Valid values: true, false or no value.',
    wider: '^(|true|false)$',
    because: 'equal; written without a capturing group',
  },
  yes_no: {
    pattern: '^(?:yes|no)$',
    maxLength: 3,
    code: 620,
    says: 'Valid values: yes or no.',
    wider: '^(yes|no)$',
    because: 'equal; written without a capturing group',
  },
  boolean: {
    pattern: '^(?:true|false)$',
    maxLength: 5,
    code: 618,
    says: 'Valid values: true or false.',
    wider: '^(true|false)$',
    because: 'equal; written without a capturing group',
  },
  query: {
    grammar: 'query',
    maxLength: 1024,
    code: 622,
    says: 'Review queries documentation: https://documentation.wazuh.com/current/user-manual/api/queries.html.',
  },
  format: {
    pattern: '^(?:xml|json)$',
    maxLength: 4,
    code: 623,
    says: 'Valid values: xml or json.',
    wider: '^(xml|json)$',
    because: 'equal; written without a capturing group',
  },
  command: {
    // Every dot is the last character or followed by another one: no `..` on the way to a script of the agent.
    pattern: '^(?:!?(?:\\.?[A-Za-z0-9_:/-])*\\.?)?$',
    maxLength: 1024,
    code: 608,
    says: 'Valid characters: a-z, A-Z, 0-9, ., _, -, :, /, and ! in front.',
    wider: 'any text',
    because:
      'a later release of the manager takes no more, and no ../ out of the folder of scripts; no text at all is left to 1650',
  },
  url: {
    pattern: '^/[!-~]*$',
    maxLength: 8192,
    code: 608,
    says: 'Valid values: path and query of a request, beginning with /.',
  },
  flag: { maxLength: 1024, code: 623, says: 'Valid values: none, presence alone counts.' },
} as const satisfies Record<string, ValueKind>

export type Kind = keyof typeof kinds
