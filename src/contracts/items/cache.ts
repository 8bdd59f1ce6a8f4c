/**
 * What `/cache` returns of stored responses, in the forms of `packages/reference/src/schemas.ts`. The description of the API
 * and the types of the code follow from these forms.
 */

export const cacheSchemas = {
  CacheEntry: {
    key: 'string',
    url: 'string: Canonical path and query, such as /agents?limit=500&offset=0.',
    group: 'string: Cache group.',
    endpoint: 'string: Path of the endpoint.',
    scope: 'string: everyone, or a digest of the permissions that the response was fetched for.',
    tags: ['string'],
    size: 'integer: Bytes.',
    age: 'integer: Milliseconds.',
    timeLeft: 'integer: Milliseconds until the entry is removed.',
    hits: 'integer',
    fetchTime: 'integer: Milliseconds that the fetch took.',
  },
  CachePurgePreview: {
    $: 'With preview=true.',
    entries: 'integer: Stored responses that would be removed.',
    bytes: 'integer: Bytes.',
    seconds: 'number: Seconds of manager time that fetching them again would take.',
    neverStale: {
      $: 'Entries that a soft purge removes, because they are never served stale.',
      entries: 'integer',
    },
  },
  CacheExplanation: {
    'endpoint?': 'string: Method and path of the endpoint.',
    cacheable: 'boolean: Whether responses of the endpoint are stored.',
    'reason?': 'string: Why the response is never stored.',
    'url?': 'string: The URL of the entry in the cache index.',
    'key?': 'string',
    'group?': 'string: Cache group.',
    'scope?': 'string: everyone, or a digest of permissions.',
    'tags?': ['string'],
    'next?': {
      hit: 'boolean',
      reason: 'string',
      'age?': 'number: Milliseconds.',
      'timeLeft?': 'number: Milliseconds.',
    },
    'invalidatedBy?': [
      {
        write: 'string: Method and path.',
        tags: ['string'],
        'when?': ['string', 'The write invalidates the response only with such a value.'],
      },
    ],
  },
} as const

interface Types {
  readonly string: string
  readonly boolean: boolean
  readonly integer: number
  readonly number: number
}

type TypeName<Text> = Text extends `${infer Name}: ${string}` ? Name : Text

/** The type of the values that a form describes. */
type ValueOf<Form> = Form extends string
  ? Types[TypeName<Form> & keyof Types]
  : Form extends readonly [infer Element, ...unknown[]]
    ? readonly ValueOf<Element>[]
    : { readonly [Name in keyof Form as Name extends '$' | `${string}?` ? never : Name]: ValueOf<Form[Name]> } & {
        readonly [Name in keyof Form as Name extends `${infer Known}?` ? Known : never]?: ValueOf<Form[Name]>
      }

type CacheSchemas = typeof cacheSchemas
/** One row of the index of stored responses. */
export type IndexEntry = ValueOf<CacheSchemas['CacheEntry']>
/** What a purge would remove. */
export type PurgeCost = ValueOf<CacheSchemas['CachePurgePreview']>
/** If the cache is off: only `cacheable` and `reason`. */
export type CacheExplanation = ValueOf<CacheSchemas['CacheExplanation']>
