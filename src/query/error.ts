/**
 * The codes with which a manager answers a collection request that it cannot carry out (contract/errors.yaml).
 * Its API cuts every text at the first colon, so none has more than what stands before.
 */
const messages = {
  1000: 'Internal error',
  1202: "Argument 'status' must be",
  1203: "Argument 'level' must be a number or an interval separated by '-'",
  1403: 'Sort field invalid',
  1404: 'A field must be specified to order the data',
  1405: 'Specified limit exceeds maximum allowed (1000)',
  1406: '0 is not a valid limit',
  1407: 'Query does not match expected format',
  1408: 'Field does not exist.',
  1409: 'Invalid query operator.',
  1411: 'TimeFrame is not valid',
  1412: 'Date filter not valid. Valid formats are timeframe or YYYY-MM-DD HH',
  1603: 'Invalid status. Valid statuses are',
  1724: 'Not a valid select field',
  1728: 'Invalid node type',
  1729: 'Invalid status. Valid statuses are Active, Disconnected, Pending and Never Connected',
} as const

export type CollectionCode = keyof typeof messages

/** A request that the collection refuses; `code` and `message` are what a manager would answer (HTTP 200). */
export class CollectionError extends Error {
  readonly code: CollectionCode

  constructor(code: CollectionCode) {
    super(messages[code])
    this.name = 'CollectionError'
    this.code = code
  }
}
