/** What the API answers to a census that is sent as a stream, which its client can't type. */
import type { paths } from '../../../client-types.ts';

type Answer<Path extends keyof paths, Method extends 'post' | 'put'> =
  paths[Path] extends Record<Method, { responses: { 200: { content: { 'application/json': infer Json } } } }>
    ? Json
    : never;

export type Report = Answer<'/v1/employers/{employer_id}/census/validate', 'post'>;
export type Staged = Answer<'/v1/employers/{employer_id}/census', 'put'>;
