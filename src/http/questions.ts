/**
 * What a URL would ask, without asking it: the request runs the same road up to its Ask and stops there. It comes in
 * under a word that is made for it and known to nobody else; a client that sends such a header sends nothing.
 */
import { randomUUID } from 'node:crypto'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { EdgeError, type ErrorCode, errorTable } from '../core/errors.ts'
import type { Caller, EdgeRequest } from '../core/request.ts'

const HEADER = 'x-edge-question'

interface Question {
  readonly caller: Caller
  ask?: EdgeRequest
}

export class Questions {
  readonly #open = new Map<string, Question>()

  /** The Ask of a GET of that path and query, for that caller. Throws the EdgeError that the request would answer. */
  async askOf(app: FastifyInstance, url: string, caller: Caller): Promise<EdgeRequest> {
    if (!/^\/[\x21\x22\x24-\x7e]*$/.test(url)) throw new EdgeError(604, '. The url must be a path')
    const word = randomUUID()
    const question: Question = { caller }
    this.#open.set(word, question)
    try {
      const answer = await app.inject({ method: 'GET', url, headers: { [HEADER]: word } })
      if (question.ask === undefined) throw refusal(answer.body)
      return question.ask
    } finally {
      this.#open.delete(word)
    }
  }

  find({ headers }: FastifyRequest): Question | undefined {
    const word = headers[HEADER]
    return typeof word === 'string' ? this.#open.get(word) : undefined
  }
}

function refusal(body: string): EdgeError {
  const { error, message } = JSON.parse(body) as { error: number; message: string }
  const code = (error in errorTable ? error : 949) as ErrorCode
  return new EdgeError(code, message.slice(errorTable[code].message.length))
}
