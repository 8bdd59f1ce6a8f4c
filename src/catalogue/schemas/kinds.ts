/**
 * The kinds of value that a parameter can have: an anchored pattern that matches in linear time, the error code of an
 * invalid value, and the text that follows "Param not valid. " in its message.
 *
 * If a pattern is stricter than that of the real API, `wider` is the real pattern and `because` is the reason. A test
 * compares both with the recorded contract (test/contract/data/endpoints.yaml).
 */
export interface ValueKind {
  /** A JSON Schema pattern, anchored at both ends. Absent: every value is valid (flags). */
  readonly pattern?: string
  readonly maxLength: number
  /** A grammar that a pattern cannot express, checked by name. */
  readonly grammar?: 'query'
  /** The kind of each value, for a list of values. A list has at least one value: the manager reads `[]` as all. */
  readonly listOf?: 'numbers' | 'names'
  readonly code: number
  /** Empty: the message of the error code is enough. */
  readonly message: string
  /** The pattern of the real API if this one is stricter. */
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
    message: 'Integer expected.',
    wider: '^[0-9]+$',
    because: 'the manager cannot use a number that does not fit 64 bits',
  },
  array_numbers: {
    pattern: '^[0-9]{1,19}(?:,[0-9]{1,19})*$',
    maxLength: 8192,
    listOf: 'numbers',
    code: 616,
    message: 'Valid values: array of numbers.',
    wider: '^[0-9]+(,[0-9]+)*$',
    because: 'as numbers',
  },
  names: {
    pattern: `^${NOT_DOTS}$`,
    maxLength: 255,
    code: 601,
    message: 'Valid characters: a-z, A-Z, 0-9, ., _, -.',
    wider: `^${NAME}$`,
    because: 'a name of dots only is a parent folder in a path',
  },
  array_names: {
    pattern: `^${NOT_DOTS}(?:,${NOT_DOTS})*$`,
    maxLength: 8192,
    listOf: 'names',
    code: 621,
    message: '',
    wider: `^${NAME}(,${NAME})*$`,
    because: 'as names',
  },
  node_names: {
    pattern: `^(?:\\*|${NOT_DOTS}(?:,${NOT_DOTS})*)$`,
    maxLength: 8192,
    code: 601,
    message: 'Valid values: *, or names of nodes, separated by commas.',
  },
  paths: {
    pattern: '^[A-Za-z0-9_.\\\\/:-]+$',
    maxLength: 1024,
    code: 608,
    message: 'Path invalid. Valid characters: a-z, A-Z, 0-9, ., _, -, :, /, \\.',
  },
  dates: {
    pattern: '^[0-9]{8}$',
    maxLength: 8,
    code: 605,
    message: 'Date format: YYYYMMDD.',
  },
  ips: {
    pattern:
      '^(?:any|ANY|(?:(?:25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9]?[0-9])\\.){3}(?:25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9]?[0-9])(?:/(?:3[0-2]|[12]?[0-9]))?)$',
    maxLength: 18,
    code: 606,
    message: 'IP invalid.',
  },
  alphanumeric: {
    pattern: '^[A-Za-z0-9_,.+: -]+$',
    maxLength: 1024,
    code: 609,
    message: 'Valid characters: a-z, A-Z, 0-9, ., _, -, +.',
    wider: '^[A-Za-z0-9_,.+:\\s-]+$',
    because: 'line feeds and tabs would reach the logs of the manager',
  },
  sort: {
    pattern: '^[A-Za-z0-9_,.+ -]+$',
    maxLength: 256,
    code: 611,
    message: 'Valid characters: a-z, A-Z, 0-9, _, -, +, ,.',
    wider: '^[A-Za-z0-9_,.+\\s-]+$',
    because: 'as alphanumeric',
  },
  search: {
    pattern: '^[^;|&^*>\\u0000-\\u001f\\u007f-\\u009f\\u2028\\u2029]+$',
    maxLength: 1024,
    code: 612,
    message: 'Invalid characters: ; & | * ^ >.',
    wider: '^[^;|&^*>]+$',
    because: 'control characters forge lines in logs',
  },
  select: {
    pattern: '^[A-Za-z0-9_,.]+$',
    maxLength: 1024,
    code: 619,
    message: 'Valid characters: a-z A-Z 0-9 space . , _.',
  },
  ranges: {
    pattern: '^(?:[0-9]{1,2}|[0-9]{1,2}-[0-9]{1,2})$',
    maxLength: 5,
    code: 610,
    message: "Valid characters: number or interval separated by '-'.",
    wider: '^[0-9]+$|^[0-9]{1,2}-[0-9]{1,2}$',
    because: 'levels have at most two digits, so a longer number never matches',
  },
  hashes: {
    pattern: '^(?:[A-Fa-f0-9]{32}|[A-Fa-f0-9]{40}|[A-Fa-f0-9]{64})?$',
    maxLength: 64,
    code: 613,
    message: 'Valid values: md5/sha1/sha256 hash.',
    wider: 'intended: 32, 40 or 64 hex digits; as written upstream it accepts any text',
    because: 'the real filter accepts any text, such as `; rm -rf /`; the manager answers an empty one',
  },
  key: { pattern: '^[A-Za-z0-9]+$', maxLength: 1024, code: 615, message: 'Valid characters: a-z A-Z 0-9.' },
  timeframe: {
    pattern: '^[0-9]{1,19}[dhms]?$',
    maxLength: 20,
    code: 617,
    message: 'Valid characters: [0-9]d|[0-9]h|[0-9]m|[0-9]s|0-9.',
    wider: '^[0-9]+[dhms]?$',
    because: 'as numbers',
  },
  empty_boolean: {
    pattern: '^(?:|true|false)$',
    maxLength: 5,
    code: 623,
    message: 'Valid values: true, false or no value.',
    wider: '^(|true|false)$',
    because: 'equal; written without a capturing group',
  },
  yes_no: {
    pattern: '^(?:yes|no)$',
    maxLength: 3,
    code: 620,
    message: 'Valid values: yes or no.',
    wider: '^(yes|no)$',
    because: 'equal; written without a capturing group',
  },
  boolean: {
    pattern: '^(?:true|false)$',
    maxLength: 5,
    code: 618,
    message: 'Valid values: true or false.',
    wider: '^(true|false)$',
    because: 'equal; written without a capturing group',
  },
  query: {
    grammar: 'query',
    maxLength: 1024,
    code: 622,
    message: 'Review queries documentation: https://documentation.wazuh.com/current/user-manual/api/queries.html.',
  },
  format: {
    pattern: '^(?:xml|json)$',
    maxLength: 4,
    code: 623,
    message: 'Valid values: xml or json.',
    wider: '^(xml|json)$',
    because: 'equal; written without a capturing group',
  },
  command: {
    // A dot is the last character or is followed by another character than a dot: `..` never matches.
    pattern: '^(?:!?(?:\\.?[A-Za-z0-9_:/-])*\\.?)?$',
    maxLength: 1024,
    code: 608,
    message: 'Valid characters: a-z, A-Z, 0-9, ., _, -, :, /, and ! in front.',
    wider: 'any text',
    because:
      'a later release of the manager accepts no more, and ../ would leave the folder of scripts; the manager answers an empty text with 1650',
  },
  url: {
    pattern: '^/[!-~]*$',
    maxLength: 8192,
    code: 608,
    message: 'Valid values: path and query of a request, beginning with /.',
  },
  tag: {
    pattern: '^[^\\u0000-\\u001f\\u007f-\\u009f\\u2028\\u2029]+$',
    maxLength: 1024,
    code: 609,
    message: 'Valid values: a tag of a stored response, such as agent:001.',
  },
  flag: { maxLength: 1024, code: 623, message: 'Valid values: none, presence alone counts.' },
} as const satisfies Record<string, ValueKind>

export type Kind = keyof typeof kinds
