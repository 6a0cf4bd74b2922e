"""The classes of the admin theme, typed as the Django classes that they extend: the package has no types of its own."""

from typing import TYPE_CHECKING

from soat.tenancy.staff.outside import OutsideTransaction

if TYPE_CHECKING:
    from django.contrib.admin import ModelAdmin, TabularInline
    from django.contrib.admin.filters import ChoicesFieldListFilter, RelatedFieldListFilter, SimpleListFilter
    from django.contrib.admin.views.main import ChangeList
    from django.contrib.auth.forms import AdminPasswordChangeForm, AdminUserCreationForm, AuthenticationForm
    from django.forms import CheckboxInput, ClearableFileInput, NumberInput, Select, Textarea, TextInput

    AutocompleteFilter = RelatedFieldListFilter
    ChoicesFilter = ChoicesFieldListFilter
    DropdownFilter = SimpleListFilter
    TextFilter = SimpleListFilter
    FileInput = ClearableFileInput
    Switch = CheckboxInput
else:
    from unfold.admin import ModelAdmin as ThemeAdmin
    from unfold.admin import TabularInline
    from unfold.contrib.filters.admin import AutocompleteSelectFilter as AutocompleteFilter
    from unfold.contrib.filters.admin import ChoicesDropdownFilter as ChoicesFilter
    from unfold.contrib.filters.admin import DropdownFilter, TextFilter
    from unfold.forms import AdminPasswordChangeForm, AuthenticationForm
    from unfold.forms import UserCreationForm as AdminUserCreationForm
    from unfold.views import ChangeList
    from unfold.widgets import UnfoldAdminFileFieldWidget as FileInput
    from unfold.widgets import UnfoldAdminIntegerFieldWidget as NumberInput
    from unfold.widgets import UnfoldAdminSelectWidget as Select
    from unfold.widgets import UnfoldAdminTextareaWidget as Textarea
    from unfold.widgets import UnfoldAdminTextInputWidget as TextInput
    from unfold.widgets import UnfoldBooleanSwitchWidget as Switch

    class ModelAdmin(ThemeAdmin, OutsideTransaction):
        """The theme's class, over ours instead of directly over Django's."""


__all__ = [
    "AdminPasswordChangeForm",
    "AdminUserCreationForm",
    "AuthenticationForm",
    "AutocompleteFilter",
    "ChangeList",
    "ChoicesFilter",
    "DropdownFilter",
    "FileInput",
    "ModelAdmin",
    "NumberInput",
    "Select",
    "Switch",
    "TabularInline",
    "TextFilter",
    "TextInput",
    "Textarea",
]
