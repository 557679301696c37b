"""An SMS provider to test against, and the programs that come with it.

``SmsProvider`` talks to a running stub-provider; ``ProviderProcess`` starts one. Under pytest the
fixture ``sms_provider`` does both. The programs ``chaos-runner``, ``stub-provider`` and
``toxic-proxy`` are commands of their own; ``program`` says where they are.
"""

from .programs import ProgramNotFound, program
from .provider import DeliveryError, ProviderProcess, SmsProvider, SmsProviderError
from .record import Attempt, Fault, Message

__all__ = [
    "Attempt",
    "DeliveryError",
    "Fault",
    "Message",
    "ProgramNotFound",
    "ProviderProcess",
    "SmsProvider",
    "SmsProviderError",
    "program",
]
