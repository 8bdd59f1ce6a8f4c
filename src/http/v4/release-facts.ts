/**
 * What the API of the manager does in its own way in each release, where the edge decides in its place. Measured on 4.5.4
 * and 4.14.7; the HTTP framework of the manager changed with 4.9.
 */
import type { ProblemText } from '../../core/errors.ts'

export interface ReleaseFacts {
  /** The minor version of the first release 4 of which they are true; Infinity: release 5.0. */
  readonly since: number
  /** Whether operations that read have HEAD. */
  readonly hasHead: boolean
  /** Slashes at the end of a path do not count, or the client is redirected to the path without them. */
  readonly slashAtEnd: 'ignored' | 'redirected'
  /** Two and more slashes at the start of a path: the client is redirected to the path with one, or there is no such path. */
  readonly slashesAtStart: 'redirected' | 'notFound'
  /** A slash that is encoded in a path belongs to a value, which is checked, or there is no such path. */
  readonly encodedSlash: 'value' | 'notFound'
  /** A parameter without a value does not count, not even an unknown one, or is refused. */
  readonly emptyParameter: 'ignored' | 'refused'
  /** Whether the media type of a body is checked before everything else, where a body may declare none. */
  readonly bodyTypeFirst: boolean
  /** The refusal of another media type than those of the operation. */
  readonly wrongBodyType: (type: string, types: readonly string[]) => ProblemText
  /** Errors of types print the schema, as those of other keywords do, and no schema names the parameter that it is of. */
  readonly printsSchemas: boolean
  /** Why an empty body is refused where fields are needed. */
  readonly emptyBody: string
}

const SINCE_4_9: ReleaseFacts = {
  since: 9,
  hasHead: false,
  slashAtEnd: 'redirected',
  slashesAtStart: 'notFound',
  encodedSlash: 'notFound',
  emptyParameter: 'refused',
  bodyTypeFirst: true,
  wrongBodyType: (type, types) => ({
    title: 'Unsupported Media Type',
    detail: `Invalid Content-type (${type}), expected [${types.map((one) => `'${one}'`).join(', ')}]`,
    status: 415,
  }),
  printsSchemas: true,
  emptyBody: 'Request body must not be empty',
}

/** In the order of the releases. The first row holds while the release of no node is known. */
const RELEASES: readonly [ReleaseFacts, ...ReleaseFacts[]] = [
  {
    since: 0,
    hasHead: false,
    slashAtEnd: 'ignored',
    slashesAtStart: 'redirected',
    encodedSlash: 'value',
    emptyParameter: 'ignored',
    bodyTypeFirst: false,
    wrongBodyType: () => ({
      title: 'Not Acceptable',
      detail: 'The body type is not the one specified in the content-type',
      number: 6002,
      status: 406,
    }),
    printsSchemas: false,
    emptyBody: "None is not of type 'object'",
  },
  SINCE_4_9,
  { ...SINCE_4_9, since: Number.POSITIVE_INFINITY, hasHead: true },
]

/** Returns the facts of a release by its minor version; `undefined`: it is not known. */
export function factsOf(minor = 0): ReleaseFacts {
  return RELEASES.findLast(({ since }) => since <= minor) ?? RELEASES[0]
}
