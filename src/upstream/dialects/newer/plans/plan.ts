import type { Answer } from '../../dialect.ts'
import type { Conversation } from '../conversation.ts'

/** Asks the node as often as the request needs. Throws what `Conversation.send` throws, ClassicFault and EdgeError. */
export type RunPlan = (conversation: Conversation) => Promise<Answer>
