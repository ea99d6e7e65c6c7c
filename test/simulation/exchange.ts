/** One exchange with a dispatcher of a real client: it ends once, with a response or an error. */
import type { Dispatcher } from 'undici';

export type Exchange = ReturnType<typeof createExchange>;

export function createExchange(handler: Dispatcher.DispatchHandler) {
  let isOver = false;
  const end = (work: () => void): void => {
    if (isOver) return;
    isOver = true;
    work();
  };
  const controller = {
    paused: false,
    aborted: false,
    reason: null as Error | null,
    rawHeaders: [],
    pause(): void {},
    resume(): void {},
    abort(reason: Error): void {
      controller.aborted = true;
      controller.reason = reason;
      end(() => handler.onResponseError?.(controller as never, reason));
    },
  };
  return {
    controller: controller as unknown as Dispatcher.DispatchController & { aborted: boolean },
    fail: (error: Error): void => end(() => handler.onResponseError?.(controller as never, error)),
    respond: (status: number, headers: Record<string, string>, body: string): void =>
      end(() => {
        handler.onResponseStart?.(controller as never, status, headers, '');
        if (body !== '') handler.onResponseData?.(controller as never, Buffer.from(body));
        handler.onResponseEnd?.(controller as never, {});
      }),
  };
}

export function socketError(): Error {
  return Object.assign(new Error('other side closed'), { code: 'UND_ERR_SOCKET' });
}
